/** Loopback literals of RFC 8252: a native application cannot know its port beforehand. `localhost` is a name, not one of them. */
const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::(\d{1,5}))?((?:[/?].*)?)$/;

/** Byte for byte the registered address; only the port of a loopback literal is free. */
export function redirectMatches(registered: string, presented: string): boolean {
  if (registered === presented) return true;
  const left = loopback.exec(registered);
  const right = loopback.exec(presented);
  return (
    left !== null &&
    right !== null &&
    left[1] === right[1] &&
    left[3] === right[3] &&
    (right[2] === undefined || (Number(right[2]) >= 1 && Number(right[2]) <= 65_535))
  );
}

const lengthMax = 2000;

/** Why an address cannot be registered, or null when it can. */
export function redirectProblem(uri: string): string | null {
  if (uri.length > lengthMax) return `longer than ${lengthMax} characters`;
  if (!/^[\x21-\x7e]+$/.test(uri)) return 'only printable ASCII without spaces is allowed';
  if (!URL.canParse(uri)) return 'not an absolute URI';
  const url = new URL(uri);
  if (uri.includes('#')) return 'a fragment is not allowed';
  if (url.username !== '' || url.password !== '') return 'user information is not allowed';
  if (url.protocol === 'https:') return null;
  if (url.protocol === 'http:') {
    return ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
      ? null
      : 'plain HTTP is for loopback only';
  }
  // Private-use schemes name their owner by reversed domain; that also keeps javascript: and data: out.
  return url.protocol.includes('.') ? null : 'the scheme must be https, or a reversed domain of your own';
}

/** The answer's parameters behind the address, whose own query stays as it was registered. */
export function withParameters(
  redirectUri: string,
  parameters: Readonly<Record<string, string | null>>,
): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${pairs.join('&')}`;
}
