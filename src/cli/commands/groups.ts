/** What the first word of two-word commands is about. */
export const groups: Readonly<Record<string, string>> = {
  endpoints: "Manage the platform's webhook endpoints",
  config: 'Check, show and describe the configuration',
};
