/** Results of arithmetic expressions. */
import type { JsonValue } from "../../../core/base/json.ts";
import type { GivenValues } from "../given-values.ts";
import type { Relation } from "../drawn-fields.ts";

const EXPRESSIONS = ["expression", "equation", "formula", "calculation"];
const RESULTS = ["result", "answer", "value", "output"];
const MAX_LENGTH = 200;

/** The result is that of the expression, such as `42` for `6 * 7`. */
export const expressionResult: Relation = (names) => {
  const result = RESULTS.find((name) => names.has(name));
  if (result === undefined) return undefined;
  return (object) => {
    const value = evaluateText(object.valueFromObjectOrCall(EXPRESSIONS));
    if (value === undefined) return;
    if (object.getText(result) === undefined) object.setNumber(result, value);
    else object.set(result, String(value));
  };
};

/** Returns the result of the expression in a call, for an answer that is a single value; undefined if there is no expression. */
export function givenExpressionResult(given: GivenValues): number | undefined {
  for (const name of EXPRESSIONS) {
    const value = evaluateText(given.find(name, true));
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Evaluates numbers, the four operations and parentheses, rounded to hundredths; undefined for anything else. */
function evaluateText(expression: JsonValue | undefined): number | undefined {
  if (typeof expression !== "string" || expression.length > MAX_LENGTH) return undefined;
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]/gu) ?? [];
  if (tokens.join("") !== expression.replaceAll(/\s/gu, "") || tokens.length < 3) return undefined;
  const reader = new ExpressionReader(tokens);
  const value = reader.sum();
  return reader.isDone && Number.isFinite(value) ? Math.round(value * 100) / 100 : undefined;
}

class ExpressionReader {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  get isDone(): boolean {
    return this.#at === this.#tokens.length;
  }

  sum(): number {
    let value = this.#product();
    for (let sign = this.#tokens[this.#at]; sign === "+" || sign === "-"; sign = this.#tokens[this.#at]) {
      this.#at++;
      const next = this.#product();
      value = sign === "+" ? value + next : value - next;
    }
    return value;
  }

  #product(): number {
    let value = this.#factor();
    for (let sign = this.#tokens[this.#at]; sign === "*" || sign === "/"; sign = this.#tokens[this.#at]) {
      this.#at++;
      const next = this.#factor();
      value = sign === "*" ? value * next : value / next;
    }
    return value;
  }

  #factor(): number {
    const token = this.#tokens[this.#at++];
    if (token === "-") return -this.#factor();
    if (token !== "(") return Number(token ?? Number.NaN);
    const value = this.sum();
    return this.#tokens[this.#at++] === ")" ? value : Number.NaN;
  }
}
