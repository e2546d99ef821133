/** The newest package of each supported version other than the clone's own, when this list was last changed. */
export const postgresVersions: Readonly<Record<number, string>> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
};
