/** Assigns an era to dates by their names: births long ago, past actions, future plans. The present of all examples is the first day of 2026. */
import { moveToDays } from "./date-text.ts";
import type { ValuePlace } from "./draw-context.ts";
import { normalizeName } from "./name-words.ts";
import type { ParsedDescription } from "./parsed-description.ts";
import type { RandomStream } from "./random-stream.ts";

/** The current year in examples. */
export const THIS_YEAR = 2026;

const BIRTH = /(?:^|_)(?:birth|born|dob|birthday|birthdate)(?=_|$)/u;
const PAST =
  /(?:^|_)(?:created|opened|hired|hire|joined|joining|registered|registration|founded|established|published|released|placed|ordered|order|booked|purchased|purchase|prescribed|recorded|received|paid|posted|uploaded|signed|admitted|last|previous|updated|modified|completed|closed|resolved|shipped|executed|execution|decision|transaction|posting|issued|issue|invoice|logged|reported|captured|graduation|graduated|member_since|customer_since|from_date|to_date|date_from|date_to)(?:_(?:on|at|date|time|datetime|day|timestamp|since))?(?:_|$)/u;
const FUTURE =
  /(?:^|_)(?:expires?|expiry|expiration|due|deadline|estimated|expected|valid_until|renewal|renews?|next|departure|departs?|arrival|arrives?|return|check_?in|check_?out|pick_?up|drop_?off|appointment|reservation|travel|event|scheduled|free_cancellation)(?:_|$)/u;

type Era = "birth" | "past" | "future";

function findEra(joined: string): Era | undefined {
  if (BIRTH.test(joined)) return "birth";
  if (FUTURE.test(joined)) return "future";
  return PAST.test(joined) ? "past" : undefined;
}

/** Moves a date that begins with its year to a year of the era; other texts stay unchanged. */
function moveToEra(text: string, era: Era, random: RandomStream): string {
  if (!/^20\d\d-(?!02-29)\d\d/u.test(text)) return text;
  const year = era === "birth" ? random.integer(1_960, 2_004) : era === "past" ? random.integer(THIS_YEAR - 2, THIS_YEAR - 1) : THIS_YEAR;
  return `${year}${text.slice(4)}`;
}

/** Moves a date to the days that the call is about, else to the years that its name suggests. */
export function moveInTime(
  text: string,
  { parsedDescription, place }: { readonly parsedDescription: ParsedDescription; readonly place: ValuePlace },
): string {
  const days = place.given.daysFor(place.name);
  if (days !== undefined) return moveToDays(text, days);
  const isShown = parsedDescription.examples.length > 0 || parsedDescription.defaultValue !== undefined;
  const era = isShown ? undefined : findEra(normalizeName(place.name));
  return era === undefined ? text : moveToEra(text, era, place.random.branch("year"));
}
