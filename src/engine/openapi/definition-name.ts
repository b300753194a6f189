import { hash } from "node:crypto";
import { truncateText, pointerOf, type Place } from "./warnings.ts";

const PLAIN_NAME = /^[A-Za-z0-9._-]{1,80}$/u;
const HASH_SUFFIX = /_[0-9a-f]{16}$/u;

/** The last step of the pointer, if it is a valid name in the document's schemas; else it is followed by a hash of the pointer. */
export function definitionName(place: Place): string {
  const { step, parent } = place;
  const isSchema =
    (parent?.step === "schemas" && parent.parent?.step === "components" && parent.parent.parent?.parent === undefined) ||
    (parent?.step === "definitions" && parent.parent?.parent === undefined);
  if (isSchema && PLAIN_NAME.test(step) && !HASH_SUFFIX.test(step) && step !== "__proto__") return step;
  const fit = truncateText(step, 40).replaceAll(/[^A-Za-z0-9._-]+/gu, "_");
  return `${fit}_${hash("sha256", pointerOf(place)).slice(0, 16)}`;
}
