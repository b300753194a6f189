/** Matches a pattern, including look-around, in time linear in the text: an NFA whose sets of states are cached as the states of a DFA. */
import { CharacterClasses } from "./character-classes.ts";
import { isAnchored } from "./pattern-cost.ts";
import { type PatternNode, UnsupportedPattern } from "./pattern-syntax.ts";

type Edge = Extract<PatternNode, { type: "edge" }>["edge"];

/** One state of the NFA: reads a character, leads to one of two states, leads on if a condition holds, or accepts. */
type State =
  | { readonly type: "character"; readonly set: number; readonly next: number }
  | { readonly type: "either"; one: number; readonly other: number }
  | { readonly type: "condition"; readonly condition: number; readonly negated: boolean; readonly next: number }
  | { readonly type: "accept" };

/** A look-around assertion. */
interface LookAround {
  readonly automaton: Automaton;
  /** For each index of the current text, 1 if the assertion matches there. */
  found: Uint8Array;
}

/** An assertion about a position in the text. */
type Condition = { readonly edge: "start" | "end" | "word" } | { readonly look: LookAround };

/** The states of the NFA at one position of a text, which are one state of the DFA. */
interface StateSet {
  /** The states that read a character. */
  readonly states: readonly number[];
  /** Whether a match ends here. */
  readonly accepts: boolean;
  /** The next set by character class and conditions; undefined for a set that is not cached. */
  readonly transitions: Map<number, StateSet> | undefined;
}

/** Maximum number of conditions. Each is one bit of an exact number. */
const MAX_CONDITIONS = 40;
/** Maximum size of the caches of all automata of a pattern, in states and transitions; beyond it, sets are computed each time. */
const MAX_CACHED = 4_000;
/** Maximum size of a set that is looked up by its states each time because the transition to it is not cached. */
const MAX_LOOKED_UP = 32;

/**
 * Returns a function that tells whether a pattern matches anywhere in a text.
 *
 * Look-arounds are evaluated for all positions of the text before the pattern that contains them, innermost first: look-ahead by a run from
 * the end of the text, look-behind by a run from its start. The automaton of the pattern then checks them like any other assertion.
 *
 * @see Barrière and Pit-Claudel, Linear Matching of JavaScript Regular Expressions, https://doi.org/10.1145/3656431
 * @param unicode whether the pattern has the flag `u` and reads code points; otherwise it reads UTF-16 units
 * @throws UnsupportedPattern for more than 40 different assertions
 */
export function automatonMatcher(tree: PatternNode, unicode: boolean): (text: string) => boolean {
  const lookArounds: LookAround[] = [];
  const automaton = new Automaton(tree, { unicode, isForwards: true, lookArounds, classes: new CharacterClasses(), cache: { size: 0 } });
  return (text) => {
    for (const look of lookArounds) look.automaton.run(text, (look.found = new Uint8Array(text.length + 1)));
    const isFound = automaton.run(text);
    for (const look of lookArounds) look.found = NO_POSITIONS;
    return isFound;
  };
}

const NO_POSITIONS = new Uint8Array(0);

interface AutomatonOptions {
  readonly unicode: boolean;
  readonly isForwards: boolean;
  /** All look-arounds of the pattern are added to it, innermost first. */
  readonly lookArounds: LookAround[];
  readonly classes: CharacterClasses;
  /** The size of the caches of all automata of the pattern. */
  readonly cache: { size: number };
}

class Automaton {
  readonly #options: AutomatonOptions;
  readonly #classes: CharacterClasses;
  readonly #states: State[] = [];
  readonly #conditions: Condition[] = [];
  readonly #lookAroundByNode = new Map<PatternNode, LookAround>();
  readonly #start: number;
  /** Whether a match can only begin at the start of the run. */
  readonly #isAnchored: boolean;
  readonly #initial: StateSet = { states: [], accepts: false, transitions: new Map() };
  readonly #stateSets = new Map<string, StateSet>();
  /** By state, the latest step that added it. */
  readonly #addedAt: Float64Array;
  #step = 0;

  constructor(tree: PatternNode, options: AutomatonOptions) {
    this.#options = options;
    this.#classes = options.classes;
    this.#start = this.#addPattern(tree, this.#addState({ type: "accept" }));
    this.#isAnchored = options.isForwards && isAnchored(tree);
    this.#addedAt = new Float64Array(this.#states.length);
  }

  /** Whether the pattern matches anywhere. With `found`, sets it to 1 where a match ends (from the end: begins), and returns false. */
  run(text: string, found?: Uint8Array): boolean {
    const { isForwards } = this.#options;
    const last = isForwards ? text.length : 0;
    let at = text.length - last;
    let current = this.#nextSet(this.#initial, 0, this.#conditionsAt(text, at));
    for (;;) {
      if (current.accepts) {
        if (found === undefined) return true;
        found[at] = 1;
      }
      if (at === last || (this.#isAnchored && current.states.length === 0)) return false;
      const code = this.#codeAt(text, at);
      at += (code > 0xffff ? 2 : 1) * (isForwards ? 1 : -1);
      current = this.#nextSet(current, code, this.#conditionsAt(text, at));
    }
  }

  /** Returns the next character in the direction of the run. */
  #codeAt(text: string, at: number): number {
    const { isForwards, unicode } = this.#options;
    if (isForwards) return (unicode ? text.codePointAt(at) : text.charCodeAt(at)) ?? 0;
    const pair = unicode && at > 1 ? (text.codePointAt(at - 2) ?? 0) : 0;
    return pair > 0xffff ? pair : text.charCodeAt(at - 1);
  }

  /** Returns a number with one bit set for each condition that holds at a position. */
  #conditionsAt(text: string, at: number): number {
    let holding = 0;
    for (let index = 0; index < this.#conditions.length; index++) {
      const condition = this.#conditions[index];
      if (condition !== undefined && isConditionMet(condition, text, at)) holding += 2 ** index;
    }
    return holding;
  }

  #nextSet(current: StateSet, code: number, holding: number): StateSet {
    const characterClass = this.#classes.classOf(code);
    const key = holding * (CharacterClasses.UNCACHED + 1) + characterClass;
    const known = current.transitions?.get(key);
    if (known !== undefined) return known;
    const computed = this.#computeNextSet(current, characterClass, holding);
    if (characterClass === CharacterClasses.UNCACHED && computed.states.length > MAX_LOOKED_UP) return computed;
    const next = this.#getCachedSet(computed);
    if (next.transitions === undefined || current.transitions === undefined || characterClass === CharacterClasses.UNCACHED) return next;
    current.transitions.set(key, next);
    this.#options.cache.size++;
    return next;
  }

  #getCachedSet({ states, accepts }: StateSet): StateSet {
    if (this.#options.cache.size > MAX_CACHED) return { states, accepts, transitions: undefined };
    const key = `${accepts ? "!" : ""}${states.join()}`;
    let known = this.#stateSets.get(key);
    if (known === undefined) {
      known = { states, accepts, transitions: new Map() };
      this.#stateSets.set(key, known);
      this.#options.cache.size += states.length + 1;
    }
    return known;
  }

  /** Computes the set after a character, including states of a match that begins here. */
  #computeNextSet(current: StateSet, characterClass: number, holding: number): StateSet {
    this.#step++;
    const states: number[] = [];
    let accepts = false;
    for (const index of current.states) {
      const state = this.#states[index];
      if (
        state?.type === "character" &&
        this.#classes.isClassInSet(state.set, characterClass) &&
        this.#addClosure(state.next, holding, states)
      )
        accepts = true;
    }
    const mayBegin = current === this.#initial || !this.#isAnchored;
    if (mayBegin && this.#addClosure(this.#start, holding, states)) accepts = true;
    return { states, accepts, transitions: undefined };
  }

  /** Adds a state and everything it leads to without reading a character. Returns whether one of them accepts. */
  #addClosure(first: number, holding: number, states: number[]): boolean {
    const left = [first];
    let accepts = false;
    for (let index = left.pop(); index !== undefined; index = left.pop()) {
      if (this.#addedAt[index] === this.#step) continue;
      this.#addedAt[index] = this.#step;
      const state = this.#states[index];
      if (state?.type === "character") states.push(index);
      else if (state?.type === "either") left.push(state.other, state.one);
      else if (state?.type === "condition") {
        if ((Math.floor(holding / 2 ** state.condition) % 2 === 1) !== state.negated) left.push(state.next);
      } else accepts = true;
    }
    return accepts;
  }

  /** Adds the states of a pattern, which lead to `next`. Returns the first of them. */
  #addPattern(tree: PatternNode, next: number): number {
    switch (tree.type) {
      case "set":
        return this.#addState({ type: "character", set: this.#classes.addSet(tree), next });
      case "edge":
        return this.#addState({ type: "condition", ...this.#edgeCondition(tree.edge), next });
      case "look":
        return this.#addState({
          type: "condition",
          condition: this.#conditionIndex({ look: this.#getLookAround(tree) }),
          negated: tree.negated,
          next,
        });
      case "sequence": {
        const items = this.#options.isForwards ? tree.items.toReversed() : tree.items;
        return items.reduce((after, item) => this.#addPattern(item, after), next);
      }
      case "choice":
        return tree.branches
          .map((branch) => this.#addPattern(branch, next))
          .reduceRight((other, one) => this.#addState({ type: "either", one, other }));
      case "repeat":
        return this.#addRepeat(tree, next);
    }
  }

  #addRepeat({ body, min, max }: Extract<PatternNode, { type: "repeat" }>, next: number): number {
    let first = next;
    let left = min;
    if (max === Infinity) {
      const again: State = { type: "either", one: next, other: next };
      const repeated = this.#addState(again);
      again.one = this.#addPattern(body, repeated);
      first = left > 0 ? again.one : repeated;
      left--;
    } else
      for (let more = max - min; more > 0; more--)
        first = this.#addState({ type: "either", one: this.#addPattern(body, first), other: next });
    for (; left > 0; left--) first = this.#addPattern(body, first);
    return first;
  }

  #edgeCondition(edge: Edge): { readonly condition: number; readonly negated: boolean } {
    const negated = edge === "not-word";
    return { condition: this.#conditionIndex({ edge: negated ? "word" : edge }), negated };
  }

  #getLookAround(tree: Extract<PatternNode, { type: "look" }>): LookAround {
    const known = this.#lookAroundByNode.get(tree); // known if a repeat around it is written out
    if (known !== undefined) return known;
    const look = { automaton: new Automaton(tree.body, { ...this.#options, isForwards: !tree.ahead }), found: NO_POSITIONS };
    this.#options.lookArounds.push(look);
    this.#lookAroundByNode.set(tree, look);
    return look;
  }

  #conditionIndex(wanted: Condition): number {
    const at = this.#conditions.findIndex((known) =>
      "look" in wanted ? "look" in known && known.look === wanted.look : "edge" in known && known.edge === wanted.edge,
    );
    if (at >= 0) return at;
    if (this.#conditions.length === MAX_CONDITIONS) throw new UnsupportedPattern(`it has more than ${MAX_CONDITIONS} look-arounds`);
    return this.#conditions.push(wanted) - 1;
  }

  #addState(state: State): number {
    return this.#states.push(state) - 1;
  }
}

function isConditionMet(condition: Condition, text: string, at: number): boolean {
  if ("look" in condition) return condition.look.found[at] === 1;
  if (condition.edge === "start") return at === 0;
  if (condition.edge === "end") return at === text.length;
  return isWordCharacter(text.charCodeAt(at - 1)) !== isWordCharacter(text.charCodeAt(at));
}

/** Whether the character counts as a word character for `\w` and `\b`. @param unit NaN outside the text */
function isWordCharacter(unit: number): boolean {
  return unit < 128 && WORD.test(String.fromCharCode(unit));
}

const WORD = /\w/u;
