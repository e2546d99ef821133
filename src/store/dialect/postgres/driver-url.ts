/**
 * Returns the URL as the driver gets it. The driver treats the modes `prefer`, `require` and `verify-ca` as `verify-full`, and
 * prints a warning of nine lines for them, also into a log of JSON lines. So they are written as what they mean.
 */
export function driverUrl(url: string): string {
  if (/[?&]uselibpqcompat=true(?:&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, '$1verify-full');
}
