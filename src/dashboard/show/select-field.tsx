/** A select: a field of a form with a label, or one in a header or next to buttons, where only screen readers get the label. */
import type { ReactNode } from "react";

export function SelectField<Value extends string>({
  label,
  isField = false,
  value,
  onChange,
  options,
}: {
  readonly label: string;
  readonly isField?: boolean;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly options: readonly (readonly [value: Value, says: string])[];
}): ReactNode {
  const choose = (wanted: string): void => {
    const chosen = options.find(([one]) => one === wanted);
    if (chosen !== undefined) onChange(chosen[0]);
  };
  return (
    <label className={isField ? "field" : "choice"}>
      <span className={isField ? "field-name" : "visually-hidden"}>{label}</span>
      <select value={value} onChange={({ target }) => choose(target.value)}>
        {options.map(([one, says]) => (
          <option key={one} value={one}>
            {says}
          </option>
        ))}
      </select>
    </label>
  );
}
