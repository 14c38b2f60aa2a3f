// Imported to measure how long the import of any module takes at least.
export const nothing = true
