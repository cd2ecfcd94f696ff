// Sizes: evaluates the expressions of a document at the numbers a reader chose.
"use strict";

const quotient = (a, b) => (b === 0 ? NaN : Math.floor(a / b));
const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": quotient,
  "%": (a, b) => a - b * quotient(a, b),
  "**": (a, b) => a ** b,
  neg: (a) => -a,
  not: (a) => !a,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  and: (...all) => all.every(Boolean),
  or: (...all) => all.some(Boolean),
  max: (...all) => Math.max(...all),
  min: (...all) => Math.min(...all),
  abs: (a) => Math.abs(a),
  int: (a) => Math.trunc(a),
  float: (a) => a,
  input: (a) => a,
  unbacked: (a) => a,
  floor: (a) => Math.floor(a),
  ceil: (a) => Math.ceil(a),
  trunc: (a) => Math.trunc(a),
};

/** The value of a syntax tree: numbers, "s0" for a symbol, [operator, ...operands]; else null. */
function evaluate(tree, values) {
  if (typeof tree === "number") return tree;
  if (typeof tree === "string") return values[Number(tree.slice(1))] ?? null;
  if (!Array.isArray(tree) || !Object.hasOwn(OPERATORS, tree[0])) return null;
  const operands = tree.slice(1).map((each) => evaluate(each, values));
  return operands.includes(null) ? null : OPERATORS[tree[0]](...operands);
}

/** The numbers chosen for the symbols of one program. */
class Sizes {
  constructor(program) {
    this.program = program;
    this.values = program.symbols.map((symbol) => symbol.value);
  }

  set(name, value) {
    this.program.symbols.forEach((symbol, i) => {
      if (symbol.name === name) this.values[i] = value;
    });
  }

  number(size) {
    return typeof size === "number" ? size : evaluate(this.program.expressions[size], this.values);
  }

  /** One value as text, symbolic or with numbers: f32[batch, 4]. */
  text([dtype, sizes], numeric) {
    if (dtype === "Sym") return numeric ? String(this.number(sizes) ?? sizes) : String(sizes);
    return `${dtype}[${sizes.map((each) => (numeric ? this.number(each) ?? "?" : each)).join(", ")}]`;
  }

  texts(types, numeric) {
    return types.map((each) => this.text(each, numeric)).join(", ");
  }

  /** Bytes of all tensors of a node; null where a size is not known. */
  bytes(types) {
    let total = 0;
    for (const [dtype, sizes, itemBytes] of types) {
      if (dtype === "Sym") continue;
      const count = sizes.reduce((product, each) => {
        const n = this.number(each);
        return product === null || n === null ? null : product * n;
      }, 1);
      if (count === null || Number.isNaN(count)) return null;
      total += count * itemBytes;
    }
    return total;
  }

  /** What the chosen sizes break of the contract, as texts. */
  broken() {
    const found = [];
    this.program.symbols.forEach(({ name, lower, upper }, i) => {
      const value = this.values[i];
      if (lower !== null && value < lower) found.push(`${name} is at least ${lower}`);
      if (upper !== null && value > upper) found.push(`${name} is at most ${upper}`);
    });
    for (const guard of this.program.guards) {
      if (evaluate(guard.tree, this.values) === false) found.push(guard.text);
    }
    return found;
  }
}

/** Bytes for people. */
function bytesText(n) {
  if (n === null) return "?";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i += 1;
  }
  return `${i && n < 100 ? n.toFixed(1) : Math.round(n)}\u00a0${units[i]}`;
}
