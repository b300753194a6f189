/** Dates in chronological order, and the durations between them. */
import type { JsonValue } from "../../../core/base/json.ts";
import { parseDate, formatDate } from "../date-mask.ts";
import { parseIsoDate, formatDateLike } from "../date-text.ts";
import type { Relation, ConsistencyStep, DrawnFields } from "../drawn-fields.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Objects with more pairs of dates are left unchanged. */
const MAX_PAIRS = 60;
/** A generated span longer than this many times the usual gap is shortened. */
const LONGEST_GAP = 12;

const CREATED = /(?:^|_)(?:created|placed|ordered|opened|issued|joined|registered|submitted|requested|booked|started)(?=_|$)/u;

interface DateOrder {
  readonly earlier: RegExp;
  readonly later: RegExp;
  /** The usual number of minutes between the two. */
  readonly gap: number;
  /** Whether it applies only to dates that no order before it applies to, and may be any time apart. @default false */
  readonly isLoose?: boolean;
}

/** Names of dates that come before others. */
const DATE_ORDERS: readonly DateOrder[] = [
  { earlier: /(?:^|_)(?:depart|departure|departs|outbound)(?=_|$)/u, later: /(?:^|_)(?:arrive|arrival|arrives)(?=_|$)/u, gap: 150 },
  { earlier: /(?:^|_)(?:depart|departure|departs|outbound)(?=_|$)/u, later: /(?:^|_)(?:return|inbound|returns)(?=_|$)/u, gap: 7_200 },
  { earlier: /(?:^|_)check_?in(?=_|$)/u, later: /(?:^|_)check_?out(?=_|$)/u, gap: 2_880 },
  { earlier: /(?:^|_)(?:pick_?up)(?=_|$)/u, later: /(?:^|_)(?:drop_?off|return)(?=_|$)/u, gap: 4_320 },
  {
    earlier: /(?:^|_)(?:start|starts|begin|begins|starting|startdate|starttime)(?=_|$)/u,
    later: /(?:^|_)(?:end|ends|finish|ending|enddate|endtime)(?=_|$)/u,
    gap: 60,
  },
  { earlier: /(?:^|_)(?:from|since|fromdate)(?=_|$)/u, later: /(?:^|_)(?:to|until|till|todate)(?=_|$)/u, gap: 1_440 },
  { earlier: /(?:^|_)after(?=_|$)/u, later: /(?:^|_)before(?=_|$)/u, gap: 10_080 },
  {
    earlier: /(?:^|_)(?:min|minimum|earliest|first|mindate|oldest)(?=_|$)/u,
    later: /(?:^|_)(?:max|maximum|latest|last|maxdate|newest)(?=_|$)/u,
    gap: 10_080,
  },
  {
    earlier: /(?:^|_)(?:free_cancellation|cancellable|cancel_by)(?=_|$)/u,
    later: /(?:^|_)(?:check_?in|departure|departs|start|starts|pick_?up)(?=_|$)/u,
    gap: 4_320,
  },
  {
    earlier: /(?:^|_)cancell?ed(?=_|$)/u,
    later: /(?:^|_)(?:start|starts|departure|departs|check_?in|refunded|refund)(?=_|$)/u,
    gap: 2_880,
  },
  { earlier: /(?:^|_)(?:shipped|dispatched)(?=_|$)/u, later: /(?:^|_)(?:delivered|delivery|received)(?=_|$)/u, gap: 2_880 },
  {
    earlier: /(?:^|_)(?:prescribed|issued|valid_from|effective)(?=_|$)/u,
    later: /(?:^|_)(?:expires|expiry|valid_until|valid_to|expiration)(?=_|$)/u,
    gap: 86_400,
  },
  {
    earlier: /(?:^|_)(?:booked|reserved)(?=_|$)/u,
    later: /(?:^|_)(?:payment_due|due|departure|check_?in|start|starts)(?=_|$)/u,
    gap: 10_080,
  },
  { earlier: /(?:^|_)(?:birth|born|dob)(?=_|$)/u, later: /(?:^|_)(?:hired|joined|started|death|died)(?=_|$)/u, gap: 15_000_000 },
  { earlier: /(?:^|_)sunrise$/u, later: /(?:^|_)sunset$/u, gap: 720 },
  { earlier: /(?:^|_)scheduled(?=_|$)/u, later: /(?:^|_)actual(?=_|$)/u, gap: 15 },
  { earlier: /(?:^|_)(?:issue|issued|invoice)(?=_|$)/u, later: /(?:^|_)(?:due|expiry|expires|paid)(?=_|$)/u, gap: 20_160 },
  {
    earlier: CREATED,
    later: /(?:^|_)(?:updated|modified|changed|edited|last|closed|resolved|completed|finished|paid|shipped)(?=_|$)/u,
    gap: 1_500,
  },
  { earlier: CREATED, later: /(?:^|_)(?:delivered|delivery|estimated|cancell?ed|expires|expiry|due|deadline)(?=_|$)/u, gap: 7_200 },
];

/** Names of moments by their stage in the life of a thing. Only names such as `approved_at` count, since `read` or `left` alone may be anything. */
const STAGES: readonly RegExp[] = [
  stage("created,founded,manufactured,produced,previous"),
  stage(
    "placed,ordered,opened,opens,opening,issued,joined,registered,submitted,requested,booked,reported,detected,triggered,raised,invited,admitted,enrolled,hired,borrowed,loaned,acquired,purchased,bought,queued,sent,received,signed,arrived,boarding,login,logged_in,effective",
  ),
  stage("approved,accepted,confirmed,verified,assigned,acknowledged,granted,scheduled"),
  stage(
    "activated,enabled,installed,mounted,mount,locked,launched,released,published,started,processed,read,seen,delivered,departure,departed",
  ),
  stage(
    "completed,finished,failed,resolved,fixed,closed,closes,closing,rejected,declined,deleted,removed,archived,discharged,graduated,terminated,termination,retired,discontinued,withdrawn,deactivated,disabled,uninstalled,unmounted,unmount,unlocked,unpublished,revoked,left,returned,sold,expires,expired,dissolved,logout,logged_out,next",
  ),
];
/** The usual number of minutes from one stage to a later one. */
const STAGE_GAP = 2_880;

function stage(words: string): RegExp {
  return new RegExp(`(?:^|_)(?:${words.replaceAll(",", "|")})_(?:at|on|date|time|datetime|timestamp)$`, "u");
}

const STAGE_ORDERS: readonly DateOrder[] = STAGES.flatMap((earlier, index) =>
  STAGES.slice(index + 1).map((later) => ({ earlier, later, gap: STAGE_GAP, isLoose: true })),
);

const DURATIONS: readonly (readonly [RegExp, number])[] = [
  [/^(?:duration|length)(?:_in)?_(?:minutes|min|mins)$|^duration$|^minutes$/u, MINUTE],
  [/^(?:duration|length)(?:_in)?_(?:seconds|secs|sec)$/u, 1_000],
  [/^(?:duration|length)(?:_in)?_(?:hours|hrs)$|^hours$/u, 60 * MINUTE],
  [/^(?:duration|length)(?:_in)?_days$|^(?:number_of_)?days$/u, DAY],
];

/** The start is before the end, and the duration is the time between them. */
export const orderDates: Relation = (names) => {
  const pairs: Omit<Pair, "duration">[] = [];
  const list = [...names];
  for (const { earlier: before, later: after, gap, isLoose = false } of [...DATE_ORDERS, ...STAGE_ORDERS])
    for (const earlier of list) {
      if (!before.test(earlier)) continue;
      const others = list.filter((other) => other !== earlier && after.test(other) && !before.test(other));
      const same = others.filter((other) => withoutMatch(other, after) === withoutMatch(earlier, before));
      for (const later of same.length > 0 ? same : others)
        if (
          !isLoose ||
          (pairs.length < MAX_PAIRS &&
            !pairs.some((pair) => [pair.earlier, pair.later].every((name) => name === earlier || name === later)))
        )
          pairs.push({ earlier, later, gap, isLoose });
    }
  if (pairs.length === 0 || pairs.length > MAX_PAIRS) return undefined;
  const durations = DURATIONS.flatMap(([pattern, unit]) => list.filter((name) => pattern.test(name)).map((name) => ({ name, unit })));
  const [duration] = durations;
  return (object) => {
    for (const pair of pairs) orderPair(object, { ...pair, duration });
  };
};

function withoutMatch(name: string, pattern: RegExp): string {
  return name.replace(pattern, "");
}

interface Pair {
  readonly earlier: string;
  readonly later: string;
  readonly gap: number;
  readonly isLoose: boolean;
  readonly duration: { readonly name: string; readonly unit: number } | undefined;
}

function orderPair(object: DrawnFields, { earlier, later, gap, isLoose, duration }: Pair): void {
  const [start, end] = [readMoment(object, earlier), readMoment(object, later)];
  if (start === undefined || end === undefined || start.isTime !== end.isTime || (isLoose && start.isTime)) return;
  const given = duration === undefined || isLoose || gap > 150 ? undefined : object.getNumber(duration.name);
  const lasts =
    given !== undefined && duration !== undefined && given > 0 && (start.hasTime || duration.unit === DAY)
      ? given * duration.unit
      : undefined;
  const spread = object.random.branch(later).next();
  const span = lasts ?? Math.round((gap * (1 + spread * 2)) / 5) * 5 * MINUTE;
  const least = start.hasTime && end.hasTime ? span : Math.max(span, DAY * Math.ceil(spread * 9));
  const distance = end.at - start.at;
  const isFine =
    lasts === undefined ? distance > 0 && (isLoose || distance <= LONGEST_GAP * Math.max(gap, 60) * MINUTE) : distance === span;
  if (!isFine) {
    if (object.isGenerated(later)) object.set(later, end.write(start.at + least));
    else if (object.isGenerated(earlier)) object.set(earlier, start.write(end.at - least));
  }
  if (lasts === undefined || duration === undefined) return;
  const [from, to] = [readMoment(object, earlier), readMoment(object, later)];
  if (from !== undefined && to !== undefined && to.at > from.at) object.setNumber(duration.name, (to.at - from.at) / duration.unit);
}

interface Moment {
  readonly at: number;
  readonly isTime: boolean;
  readonly hasTime: boolean;
  write(at: number): JsonValue;
}

/** Reads the date in a field: an ISO text, the format in its description, or seconds or milliseconds since 1970. */
function readMoment(object: DrawnFields, name: string): Moment | undefined {
  const value = object.get(name);
  const mask = object.parsedDescription(name)?.mask;
  if (mask !== undefined && (typeof value === "string" || typeof value === "number")) {
    const at = parseDate(mask, String(value));
    const write = (moment: number): JsonValue => (typeof value === "number" ? Number(formatDate(mask, moment)) : formatDate(mask, moment));
    if (at !== undefined) return { at, isTime: !mask.hasDay && mask.hasTime, hasTime: mask.hasTime, write };
  }
  const date = parseIsoDate(value);
  if (date !== undefined) return { ...date, write: (at) => formatDateLike(value, at) };
  const number = typeof value === "number" ? value : Number(/^1\d{9}(?:\d{3})?$/u.exec(String(value))?.[0] ?? Number.NaN);
  if (!(number > 1e9 && number < 4e12) || !Number.isInteger(number)) return undefined;
  const unit = number > 1e11 ? 1 : 1_000;
  const write = (at: number): JsonValue => (typeof value === "number" ? Math.round(at / unit) : String(Math.round(at / unit)));
  return { at: number * unit, isTime: false, hasTime: true, write };
}

/** The first and the last day of a stay, a rental or a leave. */
const SPANS: readonly (readonly [from: readonly string[], to: readonly string[]])[] = [
  [
    ["check_in", "check_in_date", "checkin", "checkin_date"],
    ["check_out", "check_out_date", "checkout", "checkout_date"],
  ],
  [
    ["pickup_time", "pickup_date", "pick_up_time", "pick_up_date", "pickup", "pickup_datetime"],
    ["dropoff_time", "dropoff_date", "drop_off_time", "drop_off_date", "return_date", "return_time", "dropoff", "dropoff_datetime"],
  ],
  [
    ["start_date", "from_date", "starts_on", "date_from", "first_day", "start"],
    ["end_date", "to_date", "ends_on", "date_to", "last_day", "end"],
  ],
];
const NIGHTS = ["nights", "number_of_nights", "num_nights", "total_nights"];
const DAYS = ["days", "number_of_days", "num_days", "total_days", "rental_days", "days_requested", "duration_days"];

/** The number of nights or days between two dates of the object or of the call; a leave includes both its first and last day. */
export const countDays: Relation = (names) => {
  const count = [...NIGHTS, ...DAYS].find((name) => names.has(name));
  if (count === undefined) return undefined;
  return (object) => {
    for (const [index, [firsts, lasts]] of SPANS.entries()) {
      const [from, to] = [parseIsoDate(object.valueFromObjectOrCall(firsts)), parseIsoDate(object.valueFromObjectOrCall(lasts))];
      if (from === undefined || to === undefined || from.isTime !== to.isTime || to.at <= from.at) continue;
      const isWhole = index === SPANS.length - 1 && !from.hasTime && !NIGHTS.includes(count);
      object.setNumber(count, Math.ceil((to.at - from.at) / DAY) + (isWhole ? 1 : 0));
      return;
    }
  };
};

const DONE_AT = /^(closed|resolved|cancell?ed|deleted|completed|finished|paid|shipped|delivered|refunded|archived|merged)_(?:at|on|date)$/u;

/** A thing that is still open has no closing date. */
export const clearUnreachedDates: Relation = (names) => {
  const state = ["state", "status"].find((name) => names.has(name));
  const done = [...names].flatMap((name) => {
    const deed = DONE_AT.exec(name)?.[1];
    return deed === undefined ? [] : [{ name, deed: deed.slice(0, 5) }];
  });
  if (state === undefined || done.length === 0) return undefined;
  const step: ConsistencyStep = (object) => {
    const stateText = object.getText(state)?.toLowerCase();
    if (stateText !== undefined) for (const { name, deed } of done) if (!stateText.startsWith(deed)) object.set(name, null);
  };
  return step;
};
