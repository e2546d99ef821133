/** Whether two addresses are one: a platform may return the one that it was given with a host in lower case or a final slash. */
export function isSameAddress(one: string, other: string): boolean {
  return normal(one) === normal(other);
}

const normal = (address: string): string => URL.parse(address)?.href ?? address;
