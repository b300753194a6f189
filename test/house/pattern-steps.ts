/** Counts the steps of a backtracking engine, and makes texts on which a pattern takes many: what finds patterns that are not linear. */
import { parsePattern, type PatternNode } from "../../src/schema/pattern/pattern-syntax.ts";

type SetNode = Extract<PatternNode, { type: "set" }>;
type Direction = 1 | -1;

/** A state of the pattern written out: `next` is where it goes on. */
type State =
  | { readonly op: "set"; readonly holds: (code: number) => boolean; readonly step: Direction; readonly next: number }
  | { readonly op: "split"; readonly ways: readonly number[] }
  | { readonly op: "edge"; readonly edge: "start" | "end" | "word" | "not-word"; readonly isMultiline: boolean; readonly next: number }
  | { readonly op: "look"; readonly negated: boolean; readonly body: number; readonly next: number }
  | { readonly op: "match" };

const WORD = /\w/u;
const MAX_COPIES = 1_000;
/** Signs of which texts are made: one of each kind that patterns tell apart. */
const SIGNS = Array.from("a1-_ .,/:;=\"'\\\n\t(<{[]}>)@#%&*+!?|~^$`AZeyzs0é\u200b");
/** What is in front of a text and behind it. A sign in front keeps a branch that reads the start of the text from taking it all. */
const AROUND = [
  ["", ""],
  ["", "\0"],
  ["", "\n"],
  ["", "!"],
  ["\0", "\0"],
] as const;
const MAX_TEXTS = 200;
/** An escape, a class, or one sign. */
const TOKEN = /\\k<\w+>|\\[^]|\[(?:\\[^]|[^\]\\])*\]|\./gu;
const BACK_REFERENCE = /^\\(?:k<|[1-9])/u;

export interface CountedPattern {
  /** The steps of looking through a text; of all matches, where the pattern has the flag `g`. */
  readonly steps: (text: string, most: number) => number;
  /** Makes texts of about so many characters, on which it may take many steps. */
  readonly texts: readonly ((length: number) => string)[];
}

/** @throws Error for a pattern with what the reader has no word for */
export function countedPattern({ source, flags }: Pick<RegExp, "source" | "flags">): CountedPattern {
  const read = source.replaceAll(TOKEN, (token) =>
    token === "." && flags.includes("s") ? "[^]" : BACK_REFERENCE.test(token) ? "" : token,
  );
  const tree = parsePattern(read, /[uv]/u.test(flags));
  const states: State[] = [];
  const first = write(tree, add(states, { op: "match" }), {
    states,
    step: 1,
    isAnyCase: flags.includes("i"),
    isMultiline: flags.includes("m"),
  });
  const isGlobal = flags.includes("g");
  const isAnchored = flags.includes("y") || (startsAtEdge(tree) && !flags.includes("m"));
  return {
    texts: hostileTexts(tree),
    steps: (text, most) => {
      let steps = 0;
      for (let start = 0; start <= text.length && steps < most;) {
        const ran = run(states, { text, first, start, most: most - steps });
        steps += ran.steps + 1;
        if ((ran.end !== undefined && !isGlobal) || isAnchored) break;
        start = Math.max(start + 1, ran.end ?? 0);
      }
      return steps;
    },
  };
}

function startsAtEdge(tree: PatternNode): boolean {
  if (tree.type === "choice") return tree.branches.every(startsAtEdge);
  const first = tree.type === "sequence" ? tree.items[0] : tree;
  return first !== undefined && first !== tree ? startsAtEdge(first) : tree.type === "edge" && tree.edge === "start";
}

interface Writing {
  readonly states: State[];
  readonly step: Direction;
  readonly isAnyCase: boolean;
  readonly isMultiline: boolean;
}

function add(states: State[], state: State): number {
  return states.push(state) - 1;
}

/** Writes the states of a tree in front of `next`, and returns the first. */
function write(tree: PatternNode, next: number, writing: Writing): number {
  const { states, step } = writing;
  switch (tree.type) {
    case "set":
      return add(states, { op: "set", holds: held(tree, writing.isAnyCase), step, next });
    case "edge":
      return add(states, { op: "edge", edge: tree.edge, isMultiline: writing.isMultiline, next });
    case "sequence":
      return (step === 1 ? tree.items.toReversed() : tree.items).reduce((after, item) => write(item, after, writing), next);
    case "choice":
      return add(states, { op: "split", ways: tree.branches.map((branch) => write(branch, next, writing)) });
    case "look": {
      const body = write(tree.body, add(states, { op: "match" }), { ...writing, step: tree.ahead ? 1 : -1 });
      return add(states, { op: "look", negated: tree.negated, body, next });
    }
    case "repeat":
      return writeRepeat(tree, next, writing);
  }
}

function writeRepeat({ body, min, max }: Extract<PatternNode, { type: "repeat" }>, next: number, writing: Writing): number {
  let after = next;
  if (max === Infinity || max - min > MAX_COPIES) {
    const ways: number[] = [];
    after = add(writing.states, { op: "split", ways });
    ways.push(write(body, after, writing), next);
  } else {
    for (let copy = min; copy < max; copy++) after = add(writing.states, { op: "split", ways: [write(body, after, writing), next] });
  }
  for (let copy = 0; copy < Math.min(min, MAX_COPIES); copy++) after = write(body, after, writing);
  return after;
}

function held(set: SetNode, isAnyCase: boolean): (code: number) => boolean {
  const known = new Map<number, boolean>();
  return (code) => {
    let is = known.get(code);
    if (is === undefined) {
      const sign = String.fromCodePoint(code);
      const cases = isAnyCase ? [sign, sign.toLowerCase(), sign.toUpperCase()] : [sign];
      known.set(code, (is = cases.some((each) => isIn(set, each))));
    }
    return is;
  };
}

function isIn({ members, negated }: SetNode, sign: string): boolean {
  const code = sign.codePointAt(0) ?? 0;
  const is = members.some((member) => {
    if (member.type === "range") return code >= member.from && code <= member.to;
    const source = member.type === "class" ? `\\${member.name}` : `\\${member.negated ? "P" : "p"}{${member.name}}`;
    return new RegExp(source, "u").test(sign);
  });
  return is !== negated;
}

interface Run {
  readonly text: string;
  readonly first: number;
  readonly start: number;
  readonly most: number;
}

/** Goes the first way, and back to the last place with another way where it ends: as engines do that backtrack. */
function run(states: readonly State[], { text, first, start, most }: Run): { readonly steps: number; readonly end: number | undefined } {
  const open = [first, start];
  let steps = 0;
  while (open.length > 0 && steps < most) {
    const at = open.pop() ?? 0;
    const state = states[open.pop() ?? 0];
    steps++;
    if (state === undefined || state.op === "match") return { steps, end: at };
    switch (state.op) {
      case "set": {
        const place = state.step === 1 ? at : at - 1;
        if (place >= 0 && place < text.length && state.holds(text.charCodeAt(place))) open.push(state.next, at + state.step);
        break;
      }
      case "split":
        for (const way of state.ways.toReversed()) if (!isIdle(open, way, at)) open.push(way, at);
        break;
      case "edge":
        if (isEdge(state, text, at)) open.push(state.next, at);
        break;
      case "look": {
        const looked = run(states, { text, first: state.body, start: at, most: most - steps });
        steps += looked.steps;
        if ((looked.end === undefined) === state.negated) open.push(state.next, at);
      }
    }
  }
  return { steps, end: undefined };
}

/** A turn of a repeat that took no character, which engines leave out. */
function isIdle(open: readonly number[], way: number, at: number): boolean {
  return open.at(-1) === at && open.at(-2) === way;
}

function isEdge({ edge, isMultiline }: Extract<State, { op: "edge" }>, text: string, at: number): boolean {
  if (edge === "start") return at === 0 || (isMultiline && text[at - 1] === "\n");
  if (edge === "end") return at === text.length || (isMultiline && text[at] === "\n");
  return (WORD.test(text.charAt(at - 1)) !== WORD.test(text.charAt(at))) === (edge === "word");
}

/** A head, something that a repeat takes very many times, and an end that the pattern does not expect. */
function hostileTexts(tree: PatternNode): readonly ((length: number) => string)[] {
  const sets = setsOf(tree);
  const signs = SIGNS.toSorted((one, other) => sharing(sets, other) - sharing(sets, one));
  const betweens = ["", ...signs.filter((sign) => /\W/u.test(sign) && sharing(sets, sign) > 0).slice(0, 3)]; // so that a word begins again
  const found = new Map<string, (length: number) => string>();
  const repeat = (head: string, part: string): void => {
    if (part === "" || found.size >= MAX_TEXTS) return;
    for (const [start, end] of AROUND)
      found.set(JSON.stringify([start, head, part, end]), (length) => start + head + part.repeat(length / part.length) + end);
  };
  const walk = (node: PatternNode, head: string): void => {
    if (node.type === "look") return walk(node.body, head);
    if (node.type === "choice") return node.branches.forEach((branch) => walk(branch, head));
    if (node.type === "sequence") {
      let before = head;
      for (const item of node.items) {
        walk(item, before);
        before += sample(item, signs, 0);
      }
      return;
    }
    if (node.type !== "repeat" || node.max < 2) return node.type === "repeat" ? walk(node.body, head) : undefined;
    const parts = new Set([0, 1, 2].map((pick) => sample(node.body, signs, pick)));
    if (node.body.type === "set") for (const sign of signs.filter((each) => isIn(node.body as SetNode, each)).slice(0, 3)) parts.add(sign);
    for (const part of parts) {
      repeat(head, part);
      if (head !== "") for (const between of betweens) repeat("", head + part + between);
    }
    if (head !== "") for (const between of betweens) repeat("", head + between);
    walk(node.body, head);
  };
  walk(tree, "");
  return [...found.values()];
}

function setsOf(tree: PatternNode): readonly SetNode[] {
  if (tree.type === "set") return [tree];
  if (tree.type === "sequence") return tree.items.flatMap(setsOf);
  if (tree.type === "choice") return tree.branches.flatMap(setsOf);
  return "body" in tree ? setsOf(tree.body) : [];
}

/** In how many sets a sign is: one in several is taken in several ways. */
function sharing(sets: readonly SetNode[], sign: string): number {
  return sets.filter((set) => isIn(set, sign)).length;
}

function sample(tree: PatternNode, signs: readonly string[], pick: number): string {
  switch (tree.type) {
    case "set": {
      const [member] = tree.members;
      const only = member?.type === "range" ? String.fromCodePoint(member.from) : "";
      return signs.find((sign) => isIn(tree, sign)) ?? only;
    }
    case "sequence":
      return tree.items.map((item) => sample(item, signs, pick)).join("");
    case "choice":
      return sample(tree.branches[pick % tree.branches.length] ?? EMPTY, signs, pick);
    case "repeat":
      return sample(tree.body, signs, pick).repeat(Math.min(MAX_COPIES, Math.max(tree.min, tree.max > 0 ? pick % 2 : 0)));
    case "edge":
    case "look":
      return "";
  }
}

const EMPTY: PatternNode = { type: "sequence", items: [] };
