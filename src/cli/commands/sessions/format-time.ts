/** Formats local time to the second, `2026-02-28 14:05:09`. Times from outside may be invalid. */
export function formatTime(at: number): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return "at an unknown time";
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}
