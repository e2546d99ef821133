/** Returns a duration in its two largest units, rounded up so that a wait never takes longer than shown. */
export function duration(millis: number): string {
  const seconds = Math.max(0, Math.ceil(millis / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.ceil(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Returns how long ago a time was, or how far it is ahead: the platform's clock may be ahead of this one. */
export function ago(time: string | null, now: number): string {
  if (time === null) return 'never';
  const millis = now - Date.parse(time);
  if (Number.isNaN(millis)) return 'unknown';
  // Small differences come from round trips and rounding to seconds, not from clock skew.
  return millis < -skewMillisMin
    ? `${duration(-millis)} ahead of this clock`
    : `${duration(Math.max(0, millis))} ago`;
}

const skewMillisMin = 5_000;
