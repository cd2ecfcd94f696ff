"""Parts of models that look at data, unmodified, as people write them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.data.registry import EVERYTHING, NOTHING, count, data, mask, vector_and_count


def tokens(k):
    """Give hidden states; draw 1 repeats one token, so that most experts get none."""
    x = torch.randn(1, 7, 8)
    return (x[:, :1].expand(1, 7, 8).clone() if k == NOTHING else x,)


class Expert(nn.Module):
    """A gated feed-forward network."""

    def __init__(self, width=8, hidden=12):
        super().__init__()
        self.w1 = nn.Linear(width, hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)
        self.w3 = nn.Linear(width, hidden, bias=False)

    def forward(self, x):
        """Gate and project."""
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


@data(tokens)
class MixtureOfExperts(nn.Module):
    """Mixtral's loop over all experts: those without a token compute on nothing."""

    def __init__(self, experts=4, width=8, top_k=2):
        super().__init__()
        self.num_experts, self.top_k = experts, top_k
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList([Expert(width) for _ in range(experts)])

    def forward(self, hidden_states):
        """Route, compute, and add up."""
        batch_size, sequence_length, hidden_dim = hidden_states.shape
        hidden_states = hidden_states.view(-1, hidden_dim)
        router_logits = self.gate(hidden_states)
        routing_weights = F.softmax(router_logits, dim=1, dtype=torch.float)
        routing_weights, selected_experts = torch.topk(routing_weights, self.top_k, dim=-1)
        routing_weights /= routing_weights.sum(dim=-1, keepdim=True)
        routing_weights = routing_weights.to(hidden_states.dtype)
        final_hidden_states = torch.zeros(
            (batch_size * sequence_length, hidden_dim),
            dtype=hidden_states.dtype,
            device=hidden_states.device,
        )
        expert_mask = F.one_hot(selected_experts, num_classes=self.num_experts).permute(2, 1, 0)
        for expert_idx in range(self.num_experts):
            expert_layer = self.experts[expert_idx]
            idx, top_x = torch.where(expert_mask[expert_idx].squeeze(0))
            current_state = hidden_states[None, top_x].reshape(-1, hidden_dim)
            weights = routing_weights[top_x, idx, None]
            current_hidden_states = expert_layer(current_state) * weights
            final_hidden_states.index_add_(0, top_x, current_hidden_states.to(hidden_states.dtype))
        return (
            final_hidden_states.reshape(batch_size, sequence_length, hidden_dim),
            router_logits,
        )


@data(tokens, refused="data-dependent-size")
class MixtureOfExpertsHit(MixtureOfExperts):
    """As later versions write it: the loop runs over the experts that were hit."""

    def forward(self, hidden_states):
        """Route, compute, and add up."""
        x = hidden_states.view(-1, hidden_states.shape[-1])
        weights, selected = torch.topk(self.gate(x).softmax(-1), self.top_k, dim=-1)
        final = torch.zeros_like(x)
        expert_mask = F.one_hot(selected, num_classes=self.num_experts).permute(2, 1, 0)
        expert_hit = torch.greater(expert_mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert_idx in expert_hit:
            idx, top_x = torch.where(expert_mask[expert_idx].squeeze(0))
            final.index_add_(0, top_x, x[top_x] * weights[top_x, idx, None])
        return final


@data(tokens)
class SortedExperts(MixtureOfExperts):
    """Tokens are sorted by their expert; each expert gets a slice."""

    def forward(self, hidden_states):
        """Route, compute, and put back."""
        x = hidden_states.view(-1, hidden_states.shape[-1])
        chosen = self.gate(x).argmax(-1)
        order = chosen.argsort(stable=True)
        counts = torch.bincount(chosen, minlength=self.num_experts).tolist()
        if not torch.jit.is_scripting():
            counts = counts[: self.num_experts]
        parts = x[order].split(counts)
        outputs = [expert(part) for expert, part in zip(self.experts, parts, strict=True)]
        result = torch.empty_like(x)
        result[order] = torch.cat(outputs)
        return result.view_as(hidden_states)


def boxes(k):
    """Give boxes and scores; draw 1 has no score above the threshold."""
    corners = torch.rand(10, 2) * 8
    scores = torch.rand(10)
    if k in (NOTHING, EVERYTHING):
        scores = torch.full((10,), 0.0 if k == NOTHING else 1.0)
    return torch.cat([corners, corners + 1 + torch.rand(10, 2) * 3], 1), scores


@data(boxes)
class DetectionHead(nn.Module):
    """Boxes above a score, best first, without those that a better one overlaps."""

    def forward(self, boxes, scores):
        """Filter, sort, and suppress (by a matrix, without a loop)."""
        keep = scores > 0.5
        boxes, scores = boxes[keep], scores[keep]
        order = scores.argsort(descending=True, stable=True)
        boxes, scores = boxes[order], scores[order]
        overlap = box_iou(boxes, boxes).triu(diagonal=1)
        suppressed = (overlap > 0.3).any(dim=0)
        return boxes[~suppressed], scores[~suppressed]


def box_iou(a, b):
    """Intersection over union of every pair."""
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    top_left = torch.max(a[:, None, :2], b[:, :2])
    bottom_right = torch.min(a[:, None, 2:], b[:, 2:])
    sides = (bottom_right - top_left).clamp(min=0)
    inter = sides[:, :, 0] * sides[:, :, 1]
    return inter / (area_a[:, None] + area_b - inter)


@data(boxes)
class DetectionTopK(nn.Module):
    """At most five boxes above a score, padded to five."""

    def forward(self, boxes, scores):
        """Filter, keep the best, and pad."""
        index = (scores > 0.5).nonzero(as_tuple=True)[0]
        boxes, scores = boxes[index], scores[index]
        k = min(5, scores.shape[0]) if False else torch.sym_min(5, scores.shape[0])
        top, order = scores.topk(k)
        missing = 5 - top.shape[0]
        return F.pad(boxes[order], (0, 0, 0, missing)), F.pad(top, (0, missing), value=-1.0)


def sequence(k):
    """Give x: [1, 6, 8] and a mask of its tokens."""
    return torch.randn(6, 8), mask(k, 6)


@data(sequence)
class MaskedAttention(nn.Module):
    """Attention among the tokens that a mask chooses."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x, m):
        """Choose, attend, and put back."""
        y = x[m]
        q, k, v = self.qkv(y).view(-1, 3, 2, 4).permute(1, 2, 0, 3)
        z = F.scaled_dot_product_attention(q, k, v)
        z = self.out(z.transpose(0, 1).reshape(-1, 8))
        result = x.clone()
        result[m] = z
        return result


@data(sequence)
class MaskedMultihead(nn.Module):
    """PyTorch's own attention module on chosen tokens."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, m):
        """Choose and attend."""
        y = x[m][None]
        return self.attention(y, y, y, need_weights=False)[0]


@data(sequence)
class MaskedEncoder(nn.Module):
    """A transformer layer on chosen tokens."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x, m):
        """Choose and encode."""
        return self.layer(x[m][None])[0]


def lengths(k):
    """Give ragged rows and their lengths."""
    sizes = [count(k, 4) for _ in range(3)] if k else [3, 1, 2]
    return torch.randn(sum(sizes), 4), torch.tensor(sizes)


def _varying(dim):
    return {"x": [dim("n", min=0), None], "lengths": None}


@data(lengths, shapes=_varying)
class RaggedPacking(nn.Module):
    """Rows are split by length, padded, encoded, and packed again."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 4)

    def forward(self, x, lengths):
        """Split, pad, project, and pack."""
        parts = torch.split(x, lengths.tolist())
        padded = nn.utils.rnn.pad_sequence(parts, batch_first=True)
        there = torch.arange(padded.shape[1]) < lengths[:, None]
        y = self.project(padded) * there[..., None]
        return y[there], y


@data(vector_and_count)
class TopKOfData(nn.Module):
    """The k best, k from data."""

    def forward(self, x, n):
        """Mask out all but the k best."""
        k = int(n)
        values, indices = torch.topk(x, k)
        return torch.zeros_like(x).scatter(0, indices, values.softmax(0))


def ids(k):
    """Give token ids."""
    return (torch.full((2, 6), 3) if k == NOTHING else torch.randint(0, 9, (2, 6)),)


@data(ids)
class Positions(nn.Module):
    """Positions up to the greatest id."""

    def forward(self, x):
        """`torch.arange(int(x.max()) + 1)`."""
        positions = torch.arange(int(x.max()) + 1)
        return positions, F.embedding(x, torch.sin(positions[:, None] * 0.5))


@data(ids)
class UniqueCounting(nn.Module):
    """How often each id occurs, by its frequency."""

    def forward(self, x):
        """Count and normalise."""
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
        frequency = counts.float() / counts.sum()
        return values, frequency[inverse], (counts * values).sum()


@data(ids)
class EndOfSequence(nn.Module):
    """The hidden state at the last position that is not padding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)

    def forward(self, x):
        """As classification heads do it."""
        last = (x != 0).int().mul(torch.arange(6)).argmax(-1)
        return self.embedding(x)[torch.arange(2), last]


@data(ids)
class ImagePlaceholders(nn.Module):
    """Image features take the place of placeholder tokens, as multimodal models do it."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.features = nn.Parameter(torch.randn(12, 4))

    def forward(self, x):
        """`masked_scatter` of as many features as there are placeholders."""
        embedded = self.embedding(x)
        place = (x == 3).unsqueeze(-1).expand_as(embedded)
        return embedded.masked_scatter(place, self.features[: (x == 3).sum()])


@data(ids)
class PackedWindows(nn.Module):
    """`cu_seqlens` as flash attention takes them."""

    def forward(self, x):
        """Lengths, offsets, and the greatest length."""
        m = x > 2
        seqlens = m.sum(dim=-1, dtype=torch.int32)
        indices = torch.nonzero(m.flatten(), as_tuple=False).flatten()
        longest = seqlens.max().item()
        offsets = F.pad(torch.cumsum(seqlens, dim=0, dtype=torch.int32), (1, 0))
        return indices, offsets, longest, x.flatten()[indices]


def points(k):
    """Give points and their batch."""
    return torch.randn(9, 3), torch.sort(torch.randint(0, 4, (9,))).values


@data(points)
class GraphPooling(nn.Module):
    """Nodes of several graphs are averaged by graph; how many there are is in the data."""

    def forward(self, x, batch):
        """Scatter to as many graphs as there are."""
        size = int(batch.max()) + 1
        out = x.new_zeros(size, 3).index_add_(0, batch, x)
        counts = x.new_zeros(size).index_add_(0, batch, x.new_ones(9)).clamp_(min=1)
        return out / counts[:, None]


@data(points)
class EdgesWithin(nn.Module):
    """Edges between all points nearer than a radius."""

    def forward(self, x, batch):
        """Distances, where they are small, and what lies between."""
        near = (torch.cdist(x, x) < 1.5) & (batch[:, None] == batch)
        source, target = near.nonzero(as_tuple=True)
        difference = x[source] - x[target]
        messages = difference.norm(dim=1, keepdim=True) * x[source]
        return torch.zeros_like(x).index_add(0, target, messages)


@data(points)
class Voxels(nn.Module):
    """Points are averaged by the cell they lie in."""

    def forward(self, x, batch):
        """Unique rows, and means by them."""
        cells = torch.cat([batch[:, None], (x / 0.7).floor().long()], 1)
        unique, inverse = torch.unique(cells, dim=0, return_inverse=True)
        sums = torch.zeros(unique.shape[0], 3).index_add_(0, inverse, x)
        counts = torch.bincount(inverse, minlength=unique.shape[0])
        return unique, sums / counts[: unique.shape[0], None]
