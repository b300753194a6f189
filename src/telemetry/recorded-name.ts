/** The names of calls as they are recorded: models sometimes write a whole call into a name. */
import type { ContentSettings } from "./content-settings.ts";
import { toRecordedText } from "./recorded-text.ts";

/** The first character that names of tools usually lack, such as a bracket, a quote or a space, and all that follows it. */
const ARGUMENTS = /[^\p{L}\p{M}\p{N}_.:/@$-].*$/su;

/**
 * Returns the name of a tool as it is. Any other name is text of a model, as in `weather({"city": "Oslo"})`: it is redacted like arguments, and is
 * recorded only up to its arguments unless inputs are recorded.
 */
export function toRecordedName(name: string, { isTool, recordInputs, redact }: ContentSettings): string {
  if (isTool(name)) return name;
  return toRecordedText(recordInputs ? name : name.replace(ARGUMENTS, "…"), redact);
}
