/** Access, refresh and client secrets carry their kind and realm in front; webhook secrets only their kind. */
const credentialShape = /\b(?:(at|rt|sk)_(live|test)|whsec)_[A-Za-z0-9+/=_-]+/g;

/** Keeps the kind of a credential for the reader and drops the rest: `at_live_…`. For texts about to be shown. */
export function maskCredentials(text: string): string {
  return text.replace(credentialShape, (_, kind?: string, realm?: string) =>
    kind === undefined ? 'whsec_…' : `${kind}_${realm}_…`,
  );
}

/** A sandbox access token opens nothing but made-up data. */
export const sandboxTokenPrefix = 'at_test_';

export function isSandboxToken(text: string): boolean {
  return text.startsWith(sandboxTokenPrefix);
}
