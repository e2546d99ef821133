/** Loopback IP literals (RFC 8252): a native application cannot know its port in advance. `localhost` is not a literal. */
const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::(\d{1,5}))?((?:[/?].*)?)$/;

/** Returns whether the URIs are equal byte for byte. The port of a loopback literal may differ. */
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

/** Returns why a URI cannot be registered, or null if it can. */
export function redirectProblem(uri: string): string | null {
  if (uri.length > lengthMax) return `longer than ${lengthMax} characters`;
  if (!/^[\x21-\x7e]+$/.test(uri)) return 'only printable ASCII without spaces is allowed';
  const url = URL.parse(uri);
  if (url === null) return 'not an absolute URI';
  if (uri.includes('#')) return 'a fragment is not allowed';
  if (url.username !== '' || url.password !== '') return 'user information is not allowed';
  if (url.protocol === 'https:') return null;
  if (url.protocol === 'http:') {
    return ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
      ? null
      : 'plain HTTP is for loopback only';
  }
  // Private-use schemes must be a reversed domain name, which also excludes javascript: and data:.
  return url.protocol.includes('.') ? null : 'the scheme must be https, or a reversed domain of your own';
}

/** Appends the response parameters to the redirect URI and keeps its registered query. */
export function withParameters(
  redirectUri: string,
  parameters: Readonly<Record<string, string | null>>,
): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${pairs.join('&')}`;
}
