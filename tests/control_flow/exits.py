"""Ways out of loops on data: what raises under parts of a condition, and what is returned."""

import torch

from tests.control_flow.branching import DOWN, UP, branching

FAR = torch.full((3,), 50.0)
HIGH = torch.tensor([1.0, 9.0, 30.0])


@branching(UP, UP * 2, UP * 3, DOWN)
def raises_under_either_part(x):
    """Both parts leave the loop, whose rounds are counted."""
    n = 0
    while n < 3:
        n += 1
        x = x + 1
        if (x > 6).all() or x.sum() < 0:
            raise ValueError(n)
    return x * n


@branching(UP, UP * 2, UP * 3, DOWN, FAR)
def raises_in_rounds_of_data(x):
    """The rounds are counted by data."""
    n = 0
    while x.sum() < 40:
        n += 1
        x = x + 1
        if (x > 14).all() or x.sum() < 0:
            raise ValueError("out of range")
    return x * n


@branching(UP, UP * 2, DOWN, FAR)
def raises_at_the_beginning_of_a_round(x):
    """Before anything else."""
    while x.sum() < 40:
        if x[0] < 0 and x[1] < 0:
            raise ValueError("negative")
        x = x * 2
    return x


@branching(UP, DOWN, FAR)
def raises_unless_it_ends(x):
    """The loop has no test but one inside."""
    while True:
        x = x * 1.5
        if x.sum() > 100:
            return x
        if x.min() < -3:
            raise ValueError("diverges")


@branching(UP, DOWN, FAR)
def asserts_in_rounds(x):
    """An assertion of two parts."""
    n = 0
    while x.sum() < 40:
        assert (x[0] > 0) & (x[1] > 0), "negative"
        x = x * 2
        n += 1
    return x, n


@branching(UP, DOWN, FAR)
def raises_in_a_counted_loop_alone(x):
    """Under one condition, in rounds that are counted by Python."""
    n = 0
    while n < 3:
        n += 1
        x = x + 1
        if x.sum() < 0:
            raise ValueError("negative")
    return x


@branching(UP, DOWN, FAR)
def raises_in_a_while_of_two_tests(x):
    """Python's count and data end the rounds."""
    n = 0
    while n < 4 and x.sum() < 40:
        n += 1
        x = x * 2
        if x[0] < 0 or x[1] < 0 or x[2] < 0:
            raise ValueError("negative")
    return x, n


@branching(UP, DOWN, FAR, HIGH, stock=False)
def raises_what_is_caught(x):
    """Within the function: what comes next is decided by it."""
    n = 0
    while n < 3:
        n += 1
        x = x + 1
        try:
            if x[0] > 3:
                raise ValueError
            x = x * 2
        except ValueError:
            x = x - 5
    return x


@branching(UP, UP * 9, FAR, HIGH)
def returns_what_is_chosen(x):
    """A mask of what a round made."""
    n = 0
    while x.sum() < 100:
        x = x * 2
        n += 1
        if x[0] > 10:
            return x[x > 11], n
    return x, n


@branching(UP, UP * 9, FAR, HIGH)
def returns_where_it_is(x):
    """`nonzero`, and a count of it."""
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            found = (x > 20).nonzero()
            return found, found.shape[0]
    return x[:, None].long(), -1


@branching(UP, UP * 9, FAR, HIGH)
def returns_a_list_of_it(x):
    """In a structure, with what was there before."""
    z = x * 3
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            return [x[x > 20], z]
    return [x, z]


@branching(UP, UP * 9, FAR, HIGH)
def returns_after_two_conditions(x):
    """Inner and outer."""
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            if x[1] > 13:
                return x[x > 15]
            x = x + 1
    return x


@branching(UP, UP * 9, FAR, HIGH)
def returns_at_two_places(x):
    """Each of its own size."""
    while x.sum() < 100:
        x = x + 7
        if x[0] > 20:
            return x[x > 15]
        if x[1] > 13:
            return x[x > 9] + 1
    return x


@branching(UP, UP * 9, FAR, HIGH)
def returns_from_a_loop_in_a_branch(x):
    """Within a condition, and computed with afterwards by the caller."""

    def found(x):
        if x[0] < 40:
            while x.sum() < 100:
                x = x + 7
                if x[0] > 10:
                    return x[x > 11]
        return x

    return found(x).sum() + x


@branching(UP, UP * 9, FAR, HIGH)
def returns_after_more_work(x):
    """What is returned takes another loop."""
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            y = x
            while y.sum() < 200:
                y = y * 2
            return y[y > 60]
    return x


@branching(UP, UP * 9, FAR, HIGH)
def broken_out_of(x):
    """`break`, past an `else`."""
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            x = x * 2
            break
    else:
        x = x - 1
    return x


@branching(UP, UP * 9, FAR, HIGH)
def returns_what_rounds_wrote(x):
    """A tensor from outside, which rounds change in place, chosen from."""
    z = x * 0
    while x.sum() < 100:
        x = x + 7
        z.add_(x)
        if x[0] > 10:
            return z[z > 15]
    return z


@branching(UP, UP * 9, FAR, HIGH)
def returns_from_two_loops_of_data(x):
    """Out of both."""
    while x.sum() < 100:
        y = x
        while y.sum() < 60:
            y = y + 5
            if y[0] > 12:
                return y[y > 14]
        x = x + y
    return x


@branching(UP, UP * 9, FAR, HIGH)
def broken_out_of_with_a_choice(x):
    """`break`, after what has a size of its own was made, which is read behind the loop."""
    y = x
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            y = x[x > 15]
            break
    return y, x


@branching(UP, UP * 9, FAR, HIGH, refused="branches-disagree")
def broken_out_of_with_a_text(x):
    """`break`, after another object was put into a variable."""
    mode = None
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            mode = "left"
            break
    if mode is None:
        return x - 1
    return x + len(mode)


@branching(UP, UP * 9, FAR, HIGH, refused="branch-side-effect")
def broken_out_of_with_a_list(x):
    """`break`, after a list of the caller's grew."""
    found = [x]
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            found.append(x * 2)
            break
    return sum(found)


@branching(UP, UP * 9, FAR, HIGH)
def changes_a_list_where_it_leaves(x):
    """What it changes is the very list from outside, by both names."""
    found = [x]
    other = found
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            found[0] = x
            return other[0][x > 15], len(other)
    return found[0], len(other)


@branching(UP, UP * 9, FAR, HIGH, refused="branches-disagree")
def goes_on_with_an_iterator(x):
    """What is on the stack of an outer loop, and an iterator in a variable."""
    numbers = iter([1, 2, 3])
    total = x
    for i in range(2):
        while x.sum() < 100:
            x = x + 7
            if x[0] > 10 + i:
                total = total + x[x > 9].sum() * next(numbers)
                break
        x = x - 60
    return total, next(numbers)


@branching(UP, UP * 9, FAR, HIGH)
def returns_with_a_mode(x):
    """The way out stands in a mode, which it leaves."""
    while x.sum() < 100:
        x = x + 7
        with torch.no_grad():
            if x[0] > 10:
                return x[x > 11] * 2
    return x


@branching(UP, UP * 9, FAR, HIGH)
def returns_from_try(x):
    """The way out stands in a `try`."""
    n = 0
    while x.sum() < 100:
        try:
            x = x + 7
            if x[0] > 10:
                return x[x > 11], n
        finally:
            n = n + 1
    return x, n


@branching(UP, UP * 9, FAR, HIGH)
def returns_carried_and_born(x):
    """What it chooses from was made in an earlier round, or by this one first."""
    last, n = x, 0
    while x.sum() < 100:
        n += 1
        half = x / 2
        if x[0] > 10:
            return last[last > 4], half[half > 2], n
        last, x = x, x + 7
    return last, x, n


@branching(UP, UP * 9, FAR, HIGH)
def writes_where_it_leaves(x):
    """To a tensor from outside, and to what a round made."""
    z = x.clone()
    w = z
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            z.mul_(2)
            x.add_(1)
            return x[x > 9], w * 1
    return x * 1, w * 3


@branching(UP, UP * 9, FAR, HIGH)
class BufferWrittenWhereItLeaves(torch.nn.Module):
    """A buffer, written to and replaced."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        while x.sum() < 100:
            x = x + 7
            if x[0] > 10:
                self.seen.add_(x.sum())
                self.last = x * 2
                return x[x > 9] + self.seen
        return x + self.last


@branching(UP, UP * 9, FAR, HIGH)
def draws_where_it_leaves(x):
    """Nothing that is random, but what would be: the sizes agree."""
    while x.sum() < 100:
        x = x + 7
        if x[0] > 10:
            y = x[x > 9]
            return y + torch.zeros_like(y)
    return x


@branching(UP, DOWN, HIGH, refused="branches-disagree")
def breaks_out_of_a_for_to_the_same_for(x):
    """What leaves the inner `for` skips its `else`, and the outer one begins it anew."""
    for _ in range(2):
        for _ in range(int((x > 0).sum().clamp(0, 3))):
            if (x > 3).any() or x.sum() < 0:
                break
            x = x + 1
        else:
            x = x * 2
    return x
