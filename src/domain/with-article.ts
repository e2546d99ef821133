/** Returns the noun with `a` or `an`. Names of resources that begin with u, such as user, are spoken with a consonant. */
export const withArticle = (noun: string): string => `${/^[aeio]/i.test(noun) ? 'an' : 'a'} ${noun}`;
