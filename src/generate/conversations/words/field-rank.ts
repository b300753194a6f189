/** Ranks fields by how much their names tell about a thing. */
import { memoize } from "../../../core/base/memoize.ts";
import { isIdName } from "../id-names.ts";
import { normalizeName } from "../../../schema/example/name-words.ts";

const TITLE_NAMES =
  /^(?:name|title|full_name|display_name|label|subject|summary|.*_name|.*_title|city|email|username|symbol|code|word|text|content|message|question|description|type)$/u;
const SECRET = /password|secret/iu;

/** Whether a field with this name is the most informative one of an item. */
export const isTitleName = memoize((name) => TITLE_NAMES.test(normalizeName(name)));

/** Whether a field with this name may be mentioned. A digit in the name would read as a value. */
export const isMentionable = memoize((name) => !SECRET.test(name) && !/\d/u.test(name));

/** The rank of a field whose name tells nothing about its importance. */
export const NEUTRAL_RANK = 3;

/** Returns the rank of a field: ids, states and names first, URLs and times last. */
export const rankFieldName = memoize((name) => {
  const plain = normalizeName(name);
  if (isIdName(name)) return 0;
  if (/(?:^|_)(?:status|state)$/u.test(plain)) return 1;
  if (/(?:^|_)(?:url|image|icon|link|href|created_at|updated_at|timestamp|hash|etag)$/u.test(plain)) return 4;
  return isTitleName(name) ? 2 : NEUTRAL_RANK;
});
