/** Ranks fields by how much their names tell about a thing. */
import { memo } from "../../../core/base/memo.ts";
import { isIdName } from "../id-names.ts";
import { plainName } from "../../../schema/example/name-words.ts";

const HEADS =
  /^(?:name|title|full_name|display_name|label|subject|summary|.*_name|.*_title|city|email|username|symbol|code|word|text|content|message|question|description|type)$/u;
const SECRET = /password|secret/iu;

/** Whether a field with this name is the most informative one of an item. */
export const isHead = memo((name) => HEADS.test(plainName(name)));

/** Whether a field with this name may be mentioned. A digit in the name would read as a value. */
export const isSaid = memo((name) => !SECRET.test(name) && !/\d/u.test(name));

/** The rank of a field whose name tells nothing about its importance. */
export const SAYS_NOTHING = 3;

/** Returns the rank of a field: ids, states and names first, URLs and times last. */
export const rankOfName = memo((name) => {
  const plain = plainName(name);
  if (isIdName(name)) return 0;
  if (/(?:^|_)(?:status|state)$/u.test(plain)) return 1;
  if (/(?:^|_)(?:url|image|icon|link|href|created_at|updated_at|timestamp|hash|etag)$/u.test(plain)) return 4;
  return isHead(name) ? 2 : SAYS_NOTHING;
});
