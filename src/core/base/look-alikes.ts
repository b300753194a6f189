/** Letters that people mistake for others. */

/** Invisible characters: zero-width joiners, tags, variation selectors. */
export const IGNORABLE_CHARACTERS = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * Letters of other scripts, each with the Latin letter or sign that it looks like.
 *
 * From the list of Unicode TR39, those that are part of everyday alphabets; letters that compatibility normalization already maps (full-width and
 * mathematical ones) are not included.
 *
 * @see https://www.unicode.org/reports/tr39/#Confusable_Detection
 */
export const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    "аa еe оo рp сc уy хx ѕs іi јj һh ӏl ԁd ԛq ԝw ѵv АA ВB ЕE КK МM НH ОO РP СC ТT ХX ЅS ІI ЈJ ԌG ҮY", // Cyrillic
    "αa οo νv ιi κk ρp υu ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX", // Greek
    "օo ոn սu հh ցg յj", // Armenian
    "ıi ɡg ɑa ɩi ‐- ‒- –- −- ⁄/ ∶: ꞉:", // Latin extensions and signs
  ].flatMap((line) => line.split(" ").map((pair) => [pair.slice(0, 1), pair.slice(1)] as const)),
);
