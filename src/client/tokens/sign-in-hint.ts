/** The advice for a sign-in that is missing or void. What reads the sign-in does not know what it is for. */
export const signInHint = 'sign in with `rosterd connect --source NAME`, --rule NAME or --management';
