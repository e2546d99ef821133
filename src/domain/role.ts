/** What a user of the console may do. Each role may also do what the roles before it may. */
export const roles = ['viewer', 'analyst', 'operator'] as const;
export type Role = (typeof roles)[number];

/** `names`: show personal data. `act`: change what rosterd does, and read the audit log. */
export type Right = 'names' | 'act';

const neededFor: Readonly<Record<Right, Role>> = { names: 'analyst', act: 'operator' };

export const roleMay = (role: Role, right: Right): boolean =>
  roles.indexOf(role) >= roles.indexOf(neededFor[right]);

/** Returns the role of the two that may do less. */
export const lowerRole = (one: Role, other: Role): Role =>
  roles.indexOf(one) <= roles.indexOf(other) ? one : other;
