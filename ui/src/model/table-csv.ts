/** Rows as CSV. A cell with a comma, a quotation mark or a line break is quoted. */
export const tableCsv = (rows: readonly (readonly string[])[]): string => rows.map((row) => row.map(cell).join(',')).join('\r\n')

const cell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
