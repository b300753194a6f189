/** Where the branch begins, which calls are made, and who answers them before anything is real. */
import type { ReactNode } from "react";
import { count } from "../show/words.ts";

export interface Choices {
  readonly from: "point" | "now";
  readonly through: "one" | "rest";
  readonly answerer: "simulated" | "recorded";
}

interface ReplayChoicesProps {
  readonly choices: Choices;
  readonly onChange: (choices: Choices) => void;
  /** How many calls come after the first. */
  readonly after: number;
}

export function ReplayChoices({ choices, onChange, after }: ReplayChoicesProps): ReactNode {
  return (
    <div className="replay-choices">
      <Choice
        name="Branch"
        value={choices.from}
        options={[
          ["point", "from before this call"],
          ["now", "from the session as it is now"],
        ]}
        onChange={(from) => onChange({ ...choices, from })}
      />
      <Choice
        name="Calls"
        value={choices.through}
        options={[
          ["one", "this call"],
          ["rest", `this call and the ${count(after)} after it`],
        ]}
        onChange={(through) => onChange({ ...choices, through })}
      />
      <Choice
        name="First try"
        value={choices.answerer}
        options={[
          ["simulated", "simulated: reads run, writes are pretended"],
          ["recorded", "recorded: as before, edited calls simulated"],
        ]}
        onChange={(answerer) => onChange({ ...choices, answerer })}
      />
    </div>
  );
}

function Choice<Value extends string>({
  name,
  value,
  options,
  onChange,
}: {
  readonly name: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}): ReactNode {
  return (
    <label className="field">
      <span className="field-name">{name}</span>
      <select
        value={value}
        onChange={({ target }) => {
          const chosen = options.find(([one]) => one === target.value);
          if (chosen !== undefined) onChange(chosen[0]);
        }}
      >
        {options.map(([one, says]) => (
          <option key={one} value={one}>
            {says}
          </option>
        ))}
      </select>
    </label>
  );
}
