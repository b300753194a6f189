/** Consistent measurements of one body, and the age of one person. */
import { THIS_YEAR } from "../eras.ts";
import type { Relation, DrawnFields } from "../drawn-fields.ts";

const OF_A_BODY =
  /^(?:bmi|systolic|diastolic|heart_rate|pulse|blood_pressure|patient_id|body_fat|body_fat_percentage|waist_cm|hip_cm|age|gender|sex)(?:_|$)/u;
const WEIGHTS = ["weight_kg", "weight", "body_weight", "weight_in_kg"];
const HEIGHTS = ["height_cm", "height", "body_height", "height_in_cm"];

/** A person's weight, height, temperature, and the body mass index. */
export const consistentBody: Relation = (names) => {
  const isBody = [...names].some((name) => OF_A_BODY.test(name));
  const [weight, height] = [WEIGHTS.find((name) => names.has(name)), HEIGHTS.find((name) => names.has(name))];
  const bmi = names.has("bmi") ? "bmi" : undefined;
  const temperature = ["temperature_c", "body_temperature_c", "body_temperature", "temperature"].find((name) => names.has(name));
  if (!isBody || (weight === undefined && height === undefined && bmi === undefined && temperature === undefined)) return undefined;
  const isFever = names.has("systolic") || names.has("heart_rate") || names.has("pulse") || temperature?.startsWith("body_") === true;
  return (object) => {
    keepWithin(object, height, { from: 152, to: 194, step: 1 });
    keepWithin(object, weight, { from: 51, to: 98, step: 0.1 });
    if (isFever) keepWithin(object, temperature, { from: 36.2, to: 38.4, step: 0.1 });
    const [kilograms, centimeters] = [object.numberFromObjectOrCall(WEIGHTS), object.numberFromObjectOrCall(HEIGHTS)];
    if (bmi === undefined || kilograms === undefined || centimeters === undefined || centimeters <= 0) return;
    const meters = centimeters > 3 ? centimeters / 100 : centimeters;
    object.set(bmi, Math.round((kilograms / meters ** 2) * 10) / 10);
  };
};

function keepWithin(
  object: DrawnFields,
  name: string | undefined,
  { from, to, step }: { readonly from: number; readonly to: number; readonly step: number },
): void {
  const value = object.getNumber(name);
  if (name === undefined || value === undefined || (value >= from && value <= to) || (value < 3 && name === "height")) return;
  const steps = Math.round((to - from) / step);
  object.setNumber(name, from + object.random.branch(name).integer(0, steps) * step);
}

const BORN = ["birth_date", "date_of_birth", "birthdate", "dob", "birthday", "born_on"];

/** The age of a person, from the date of birth. */
export const ageFromBirthDate: Relation = (names) => {
  const born = BORN.find((name) => names.has(name));
  if (born === undefined || !names.has("age")) return undefined;
  return (object) => {
    const year = Number(/^(?:19|20)\d\d/u.exec(object.getText(born) ?? "")?.[0] ?? Number.NaN);
    if (Number.isInteger(year)) object.setNumber("age", THIS_YEAR - 1 - year);
  };
};
