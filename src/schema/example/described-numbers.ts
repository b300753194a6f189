/** Reads the bounds of a number from a description. */

export interface DescribedBounds {
  readonly minimum: number;
  readonly maximum: number;
  /** Whether the minimum itself is excluded. */
  readonly aboveMinimum: boolean;
}

const NUMBER = String.raw`(-?\d{1,9}(?:\.\d{1,6})?)`;
const ALONE = String.raw`(?![\d:/]|[-.]\d|-[a-z])`;
const BETWEEN = [
  new RegExp(
    String.raw`\b(?:between|from|ranges?(?: is| of| from|:)?|scale of|integers?)\s+${NUMBER}\s*(?:and|to|-|\u2013)\s*${NUMBER}${ALONE}`,
    "iu",
  ),
  new RegExp(String.raw`[([]${NUMBER}\s?(?:-|\u2013|to|\.\.)\s?${NUMBER}[,;)\]]`, "iu"),
  new RegExp(String.raw`^[^.]{0,60}?(?<![\d-])${NUMBER}\s?(?:-|\u2013| to )\s?${NUMBER}${ALONE}\.?(?:$|[.,]\s)`, "iu"),
  new RegExp(String.raw`\bvalues? (?:are|is|of)? ?${NUMBER}\s?(?:-|\u2013|to)\s?${NUMBER}${ALONE}`, "iu"),
];
const LEAST = new RegExp(
  String.raw`\b(?:minimum|min\.?|at least|no less than|starting (?:at|from)|not less than|>=)(?: \w+){0,2}?(?: is| of|:)?\s+${NUMBER}${ALONE}`,
  "iu",
);
const ABOVE = new RegExp(String.raw`\b(?:greater|more|larger|higher|bigger) than ${NUMBER}${ALONE}(?! or equal)`, "iu");
const MOST = new RegExp(
  String.raw`\b(?:maximum|max\.?|at most|up to|no more than|not exceed|<=)(?: \w+){0,2}?(?: is| of|:)?\s+${NUMBER}${ALONE}`,
  "iu",
);
const BELOW = new RegExp(String.raw`\b(?:less|lower|smaller) than ${NUMBER}${ALONE}`, "iu");
/** Words that mark the bounds of a length, which are not bounds of a value. */
const OF_LENGTH = /\b(?:characters|letters|digits|chars|words|items|elements|bytes|ids)\b/iu;

const UNBOUNDED: DescribedBounds = { minimum: -Infinity, maximum: Infinity, aboveMinimum: false };

/** @param text limited in length by the caller */
export function findBounds(text: string): DescribedBounds {
  if (
    !/\d|positive|negative/iu.test(text) ||
    (OF_LENGTH.test(text) && !/^(?:the )?(?:\w+ ){0,2}(?:number|count|length|limit)/iu.test(text))
  )
    return UNBOUNDED;
  const plain = text.replaceAll(/[`'"*](-?\d+(?:\.\d+)?)[`'"*]/gu, "$1").replaceAll(/(\d),(\d{3})(?!\d)/gu, "$1$2");
  for (const pattern of BETWEEN) {
    const found = pattern.exec(plain);
    const [low, high] = [Number(found?.[1]), Number(found?.[2])];
    if (found !== null && low < high && !isYears(low, high)) return { minimum: low, maximum: high, aboveMinimum: false };
  }
  const above = numberIn(ABOVE, plain);
  const least =
    numberIn(LEAST, plain) ??
    above ??
    (/\bnon-?negative\b/iu.test(plain) ? 0 : /\bpositive (?:integer|number|float|whole|value)/iu.test(plain) ? 0 : undefined);
  const most = numberIn(MOST, plain) ?? numberIn(BELOW, plain);
  const isAbove = above !== undefined || (least === 0 && /\bpositive\b/iu.test(plain));
  if (least !== undefined && most !== undefined && least > most) return UNBOUNDED;
  return { minimum: least ?? -Infinity, maximum: most ?? Infinity, aboveMinimum: isAbove };
}

/** True for two years of a season, such as "the 2017-2018 season". */
function isYears(low: number, high: number): boolean {
  return low > 1_900 && high < 2_100 && high - low < 3;
}

function numberIn(pattern: RegExp, text: string): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}
