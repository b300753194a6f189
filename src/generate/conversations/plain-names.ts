/** Names of properties as they are compared, read once each. */
import { memo } from "../../core/base/memo.ts";
import { plainName as readPlainName } from "../../schema/example/name-words.ts";

/** Spells a name so that `orderId`, `order_id` and `ORDER-ID` are one. */
export const plainName = memo(readPlainName);
