/** What a tool says of itself: the words of the document, as text and never as anything else. */
import type { JsonObject } from "../../core/base/json.ts";
import { ownText, own } from "./document.ts";
import { cutText } from "./warnings.ts";

export interface OperationText {
  readonly title?: string;
  readonly description: string;
  /** The whole text, where the description had to be cut. */
  readonly documentation?: string;
}

const MAX_TITLE = 200;
const MAX_DESCRIPTION = 4_000;
const MAX_DOCUMENTATION = 100_000;

/** @param called method and path, for an operation that says nothing */
export function operationText(operation: JsonObject, called: string): OperationText {
  const summary = (ownText(operation, "summary") ?? "").slice(0, MAX_DOCUMENTATION).trim();
  const body = (ownText(operation, "description") ?? "").slice(0, MAX_DOCUMENTATION).trim();
  const deprecated = own(operation, "deprecated") === true ? "Deprecated." : "";
  const isRepeated = body.toLowerCase().startsWith(summary.replace(/\.$/u, "").toLowerCase());
  const whole = [deprecated, isRepeated ? "" : summary, body].filter((text) => text !== "").join("\n\n");
  const title = summary.split("\n", 1)[0] ?? "";
  return {
    ...(title === "" ? {} : { title: cutText(title, MAX_TITLE) }),
    description:
      whole === "" || whole === deprecated
        ? [deprecated, called].filter((text) => text !== "").join("\n\n")
        : cutText(whole, MAX_DESCRIPTION),
    ...(whole.length > MAX_DESCRIPTION ? { documentation: cutText(whole, MAX_DOCUMENTATION) } : {}),
  };
}
