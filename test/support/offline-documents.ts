import { pdf } from './sample-files/pdf.ts'

export const handbook = {
  name: 'handbook.md',
  content: `# Harbour Café handbook

Opened in 1987 by Ingrid Solberg, the café seats 42 guests.

## Opening hours

On weekdays we open at 07:30 and close at 18:00. On Sundays the kitchen stays closed.

## Allergies

- The almond cake contains nuts and eggs.
- Every soup is free of gluten, except the barley soup.

## Kündigung

Die Kündigungsfrist beträgt sechs Wochen zum Quartalsende. Urlaub wird bis zum 15. März beantragt.
`,
}

export const orders = {
  name: 'orders.csv',
  content: `order,date,city,item,quantity,price
1001,2025-01-14,Bergen,Espresso machine,2,1249.50
1002,2025-01-20,Oslo,Grinder,5,189.90
1003,2025-02-02,Bergen,"Cups, blue",120,3.25
1004,2025-02-11,Trondheim,Grinder,1,189.90
1005,2025-03-05,Oslo,Espresso machine,1,1399.00
1006,2025-03-19,Oslo,"Cups, blue",60,3.10
`,
}

const pages = [
  'Lease of the boathouse. The tenant is Fjordlys AS. The lease begins on 1 May 2024.',
  'Rent. The monthly rent is 14500 kroner and is due on the third working day. A deposit of 43500 kroner was paid.',
  'End of the lease. Either party may give notice of three months. The keys are returned to Harald Vik.',
]

export const lease = { name: 'lease.pdf', content: pdf(pages), pages }
