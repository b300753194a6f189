/** A select in the head of a screen or beside buttons, whose label only screen readers have. */
import type { ReactNode } from "react";

export function Choice<Value extends string>({
  label,
  value,
  onChange,
  options,
}: {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly options: readonly (readonly [value: Value, says: string])[];
}): ReactNode {
  const choose = (wanted: string): void => {
    const chosen = options.find(([one]) => one === wanted);
    if (chosen !== undefined) onChange(chosen[0]);
  };
  return (
    <label className="choice">
      <span className="visually-hidden">{label}</span>
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
