/** Names of properties as they are compared, read once each. */
import { plainName as readPlainName } from "../../schema/example/name-words.ts";

const kept = new Map<string, string>();
const MAX_KEPT = 20_000;

/** Spells a name so that `orderId`, `order_id` and `ORDER-ID` are one. */
export function plainName(name: string): string {
  let plain = kept.get(name);
  if (plain !== undefined) return plain;
  plain = readPlainName(name);
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(name, plain);
  return plain;
}
