/** The arguments of a call that Vertex AI streams value by value, each with its JSON path. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

type Step = string | number;
/** A value under construction. Keys come from the model, so objects are Maps until they are complete. */
type Node = { readonly kind: "object"; readonly members: Map<string, Node> } | { readonly kind: "array"; readonly items: Node[] } | Leaf;
interface Leaf {
  readonly kind: "leaf";
  value: JsonValue;
  /** Whether more text may follow. */
  open: boolean;
}

const MAX_STEPS = 64;
const MAX_PATH = 4_096;

/** Assembles `partialArgs` piece by piece. A piece whose path cannot be parsed, or does not fit, invalidates the whole: nothing is guessed. */
export class StreamedArguments {
  readonly #root: Node = { kind: "object", members: new Map() };
  readonly #raw: JsonValue[] = [];
  readonly #maxChars: number;
  #chars = 0;
  #isInvalid = false;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** @throws ToolError `too_large` */
  add(pieces: JsonValue | undefined): void {
    for (const piece of isJsonArray(pieces) ? pieces : []) {
      this.#raw.push(piece);
      if (!isJsonObject(piece)) this.#isInvalid = true;
      else if (!this.#addPiece(piece)) this.#isInvalid = true;
    }
  }

  /**
   * Returns the arguments; if they could not be assembled, the array of pieces, which is not an object and so not a valid input.
   *
   * @param isEnded false if no end mark was received: then a text that should continue was cut off, and the arguments are invalid
   */
  input(isEnded: boolean): JsonValue {
    return this.#isInvalid || (!isEnded && isOpen(this.#root)) ? this.#raw : toJson(this.#root);
  }

  #addPiece(piece: JsonObject): boolean {
    const { jsonPath: path, willContinue } = piece;
    if (typeof path !== "string") return false;
    const value = valueOf(piece);
    this.#chars += path.length + 16 + (typeof value === "string" ? value.length : 0);
    if (this.#chars > this.#maxChars)
      throw new ToolError("too_large", `The arguments of a call have more than ${this.#maxChars} characters.`);
    const steps = parsePath(path);
    return steps !== undefined && value !== undefined && insertValue(this.#root, steps, { value, open: willContinue === true });
  }
}

function valueOf({ stringValue, numberValue, boolValue, nullValue }: JsonObject): JsonValue | undefined {
  if (nullValue !== undefined) return null;
  return stringValue ?? numberValue ?? boolValue;
}

function insertValue(root: Node, steps: readonly Step[], { value, open }: Omit<Leaf, "kind">): boolean {
  let at = root;
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    const next = steps[index + 1];
    const known = childOf(at, step);
    if (isLast && known?.kind === "leaf" && known.open && typeof known.value === "string" && typeof value === "string") {
      known.value += value;
      known.open = open;
      return true;
    }
    if (known !== undefined && !isLast) {
      at = known;
      continue;
    }
    const made: Node = isLast
      ? { kind: "leaf", value, open }
      : typeof next === "number"
        ? { kind: "array", items: [] }
        : { kind: "object", members: new Map() };
    if (!addChild(at, step, made)) return false;
    at = made;
  }
  return true;
}

function childOf(node: Node, step: Step): Node | undefined {
  if (node.kind === "object") return typeof step === "string" ? node.members.get(step) : undefined;
  return node.kind === "array" && typeof step === "number" ? node.items[step] : undefined;
}

/** Adds a child. Array items must come in order: an index that leaves a gap is refused. */
function addChild(node: Node, step: Step, child: Node): boolean {
  if (node.kind === "object" && typeof step === "string") {
    node.members.set(step, child);
    return true;
  }
  if (node.kind !== "array" || typeof step !== "number" || step > node.items.length) return false;
  node.items[step] = child;
  return true;
}

function isOpen(node: Node): boolean {
  if (node.kind === "leaf") return node.open;
  return (node.kind === "array" ? node.items : [...node.members.values()]).some(isOpen);
}

function toJson(node: Node): JsonValue {
  if (node.kind === "leaf") return node.value;
  if (node.kind === "array") return node.items.map(toJson);
  return Object.fromEntries([...node.members].map(([key, child]) => [key, toJson(child)])); // fromEntries defines own properties, even for __proto__
}

/** Returns the steps of a path such as `$.a[0].b` or `$['a b']["c"]`; undefined if it is not a path. */
function parsePath(path: string): readonly Step[] | undefined {
  if (!path.startsWith("$") || path.length > MAX_PATH) return undefined;
  const steps: Step[] = [];
  for (let at = 1; at < path.length;) {
    const read = readStep(path, at);
    if (read === undefined || steps.length >= MAX_STEPS) return undefined;
    steps.push(read.step);
    at = read.end;
  }
  return steps.length === 0 ? undefined : steps;
}

const NAME = /\.([^.[\]]+)/uy;
const INDEX = /\[(\d{1,6})\]/uy;
const QUOTED = /\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/suy;

function readStep(path: string, at: number): { readonly step: Step; readonly end: number } | undefined {
  NAME.lastIndex = INDEX.lastIndex = QUOTED.lastIndex = at;
  const name = NAME.exec(path);
  if (name?.[1] !== undefined) return { step: name[1], end: NAME.lastIndex };
  const index = INDEX.exec(path);
  if (index?.[1] !== undefined) return { step: Number(index[1]), end: INDEX.lastIndex };
  const quoted = QUOTED.exec(path);
  const key = quoted?.[1] ?? quoted?.[2];
  return key === undefined ? undefined : { step: key.replaceAll(/\\(.)/gsu, "$1"), end: QUOTED.lastIndex };
}
