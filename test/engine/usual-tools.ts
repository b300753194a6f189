/** Descriptions of tools, one for each topic that has usual fields. */
export const TOPICS_FOR_TESTS: readonly string[] = (
  "ingredient recipe restaurant cocktail hotel song artist movie book game news job stock crypto sport symptom exercise car property meeting task flight " +
  "weather animal plant course image file repository quote video word product nothing"
)
  .split(" ")
  .map((topic) => `About a ${topic}.`);
