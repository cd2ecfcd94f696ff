"""From prompt to text: train a tiny model, export it, and chat with the file in another process.

    python examples/chat.py                 # trains for about a minute, then asks for questions
    python examples/chat.py --ask "3 + 4"   # one question

Transformers makes and trains the model. Whoever chats needs the file alone: the second process
cannot import transformers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

LETTERS = "\0\n0123456789+-= ?"
"""The vocabulary. The first is padding, the second ends an answer."""
TOKENS = {letter: number for number, letter in enumerate(LETTERS)}
LENGTH = 24


def encoded(text: str) -> list[int]:
    """The tokens of a text; what has none becomes a question mark."""
    return [TOKENS.get(letter, TOKENS["?"]) for letter in text]


def lesson(generator: torch.Generator) -> str:
    """A sum or a difference, with its answer."""
    a, b = torch.randint(0, 10, (2,), generator=generator).tolist()
    plus = bool(torch.randint(0, 2, (1,), generator=generator))
    return f"{a} {'+' if plus else '-'} {b} = {a + b if plus else a - b}\n"


def trained(steps: int) -> torch.nn.Module:
    """A Llama of two layers that has read some thousand lessons."""
    import transformers  # noqa: PLC0415  (only who trains needs it)

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(LETTERS),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=TOKENS["\n"],
    )
    model = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    for step in range(steps):
        rows = [encoded(lesson(generator)) for _ in range(64)]
        ids = torch.tensor([row + [0] * (LENGTH - len(row)) for row in rows])
        loss = model(input_ids=ids, labels=ids.masked_fill(ids == 0, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.2f}")
    return model.eval()


def chat(file: str, questions: list[str]) -> None:
    """Answer questions with the program of a file; the answer is shown as it is made."""
    sys.modules["transformers"] = None  # importing it fails from here on
    from monograph import ContractError, generation  # noqa: PLC0415  (as in a process of its own)

    program = generation.load(file)

    def show(tokens: torch.Tensor) -> None:
        print("".join(LETTERS[each] for each in tokens.flatten().tolist()), end="", flush=True)

    def asked() -> str:
        try:
            return input("> ")
        except EOFError:
            print()
            return ""

    if not questions:
        print("Ask for a sum or a difference, such as 3 + 4; an empty line ends the chat.")
    for question in questions or iter(asked, ""):
        prompt = torch.tensor([encoded(f"{question} =")])
        try:
            answer = program.generate(prompt, max_new_tokens=6, streamer=show)
        except ContractError as refused:  # a question that is too long
            print(refused.diagnostic.headline)
            continue
        if answer[0, -1] != TOKENS["\n"]:
            print()


def main() -> None:
    """Train, export, save; then chat in a process that has the file alone."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ask", action="append", default=[], help="a question, such as 3 + 4")
    parser.add_argument("--steps", type=int, default=900, help="of training")
    parser.add_argument("--chat", help="a file that was exported")
    given = parser.parse_args()
    if given.chat is not None:
        chat(given.chat, given.ask)
        return
    from monograph import generation  # noqa: PLC0415  (the chat imports it itself)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chat.pt2"
        generation.export(trained(given.steps), max_length=LENGTH, cache="static").save(file)
        asked = [part for question in given.ask for part in ("--ask", question)]
        command = [sys.executable, __file__, "--chat", str(file), *asked]
        done = subprocess.run(command, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
