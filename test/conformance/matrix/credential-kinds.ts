import type { Cell } from './table.js';

/** Every kind of credential an operation may be called with, seen from one company. */
export const credentialKinds = [
  'none',
  'garbage',
  'publishable',
  'application',
  /** A user token with the scopes the operation asks for, of somebody the target belongs to. */
  'owner',
  /** The same scopes, of somebody it has nothing to do with. */
  'stranger',
  /** The owner's, with every scope but those asked for. */
  'unscoped',
  /** An installation on the target's company, with every scope. */
  'company',
  'otherCompany',
  'syndicate',
  'otherSyndicate',
] as const;
export type CredentialKind = (typeof credentialKinds)[number];

export type Cells = Readonly<Record<CredentialKind, Cell>>;
