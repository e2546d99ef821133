export const investmentRoutes = [] as const;
