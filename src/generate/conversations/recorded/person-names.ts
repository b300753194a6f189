/** Recognizes values that are names of people, by the names of their properties. */
import { nameWords } from "../../../schema/example/name-words.ts";
import { MONTHS, WEEKDAYS } from "../../../schema/example/words.ts";

const PERSON_WORDS = new Set(
  (
    "person,user,customer,client,guest,patient,passenger,traveler,traveller,employee,member,contact,author,owner,assignee,reporter,recipient,sender," +
    "student,teacher,doctor,driver,holder,cardholder,applicant,candidate,buyer,seller,manager,lead,attendee,participant,organizer,host,reviewer,signer," +
    "beneficiary,payee,payer,agent,player,friend,colleague,requester,approver,creator,first,last,middle,given,family,full,maiden,nick,display,legal,sur"
  ).split(","),
);
/** Properties that are names of people by themselves. */
const PERSON_NAME_PROPERTIES = new Set(
  "firstname,lastname,fullname,surname,forename,assignee,reporter,recipient,sender,author,passenger,patient,guest,attendee,customer,cardholder,requester,approver,reviewer".split(
    ",",
  ),
);
/** An object with one of these properties and a `name` is a person. */
const PERSONAL_PROPERTY = /^(?:e_?mail(?:_address)?|phone(?:_number)?|first_?name|last_?name|birth_?day|date_of_birth|dob|gender|age)$/iu;
const NAME_FORM =
  /^\p{Lu}[\p{L}'’.-]{0,40}(?: (?:(?:van|von|de|der|den|da|di|del|la|le|el|bin|al|ten|ter) ){0,3}\p{Lu}[\p{L}'’.-]{0,40}){0,4}$/u;
const NON_NAMES = new Set([
  ...MONTHS,
  ...WEEKDAYS,
  "Unknown",
  "None",
  "Null",
  "Admin",
  "User",
  "Customer",
  "Guest",
  "System",
  "Support",
  "Team",
  "The",
  "You",
]);

/** The position of a property. */
export interface PropertyPosition {
  /** The names of the object's properties. */
  readonly siblings: readonly string[];
  /** The name of the property whose value is the object, or the array that has it. */
  readonly parent: string;
}

/** Whether the value of a property is the name of a person. @param parent the property whose value is the object */
export function isPersonName(name: string, { siblings, parent }: PropertyPosition): boolean {
  const words = nameWords(name);
  const last = words.at(-1) ?? "";
  if (words.length === 1 && PERSON_NAME_PROPERTIES.has(last)) return true;
  if (last !== "name" && last !== "names") return ["by", "to"].includes(last) && words.length === 2;
  if (words.length > 1) return PERSON_WORDS.has(words.at(-2) ?? "");
  return siblings.some((sibling) => PERSONAL_PROPERTY.test(sibling)) || isPersonWord(parent);
}

function isPersonWord(name: string): boolean {
  const last = nameWords(name).at(-1) ?? "";
  return PERSON_WORDS.has(last) || (last.endsWith("s") && PERSON_WORDS.has(last.slice(0, -1)));
}

/** Whether a text has the form of a name: capitalized words. */
export function looksLikeName(text: string): boolean {
  return text.length <= 120 && NAME_FORM.test(text) && !NON_NAMES.has(text);
}

/** Returns the words of a name that may refer to the person by themselves, and so need a replacement. */
export function splitPersonName(name: string): readonly string[] {
  return name.split(" ").filter((part) => /^\p{Lu}[\p{L}'’-]{2,}$/u.test(part) && !NON_NAMES.has(part));
}
