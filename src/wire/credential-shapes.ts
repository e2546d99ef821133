/** Access tokens, refresh tokens and client secrets have a prefix with kind and realm; webhook secrets only a kind. */
const credentialShape = /\b(?:(at|rt|sk)_(live|test)|whsec)_[A-Za-z0-9+/=_-]+/g;

/** Masks every credential in a text and keeps its prefix: `at_live_…`. */
export function maskCredentials(text: string): string {
  return text.replace(credentialShape, (_, kind?: string, realm?: string) =>
    kind === undefined ? 'whsec_…' : `${kind}_${realm}_…`,
  );
}

/** Prefix of sandbox access tokens, which give access to invented data only. */
export const sandboxTokenPrefix = 'at_test_';

export function isSandboxToken(text: string): boolean {
  return text.startsWith(sandboxTokenPrefix);
}
