import { stem } from './stem.ts'
import { termsOf } from './terms.ts'

/*
 * Words that people use for each other. A question often has another word than the text which it means: `children` and `kids`, `rubbish`
 * and `trash`, `bug` and `error`. A search also looks for the other words of a group, with a lower weight.
 */

/** Groups of words with nearly the same meaning. A search for one word also looks for the other words of its group. */
const synonyms = `
child kid son daughter toddler baby; parent mother father mom mum dad; grandparent grandmother grandfather grandma grandpa granny;
husband wife spouse partner; boyfriend girlfriend partner; married wedding marry engaged; divorce breakup separated split; sibling brother sister;
relative cousin aunt uncle nephew niece; friend buddy pal mate; colleague coworker teammate; boss manager supervisor; neighbour neighbor;
doctor physician; teacher professor instructor tutor coach; student pupil; home house apartment flat; live reside moved move; room bedroom;
garden yard backyard; job work career profession occupation employment; fired laid lost quit resign; hire hired recruit; company firm business;
salary pay wage income; money cash savings fund; buy bought purchase got ordered; sell sold; cost price expensive; cheap affordable discount;
gift present; trip travel journey vacation holiday visit tour; flight plane airport; car vehicle automobile; bike bicycle cycling;
city town; country nation abroad; hike hiking trail trek; camp camping tent; beach sea ocean coast shore; lake river; mountain hill peak;
eat food meal dish; cook cooking bake baking recipe; dinner supper; breakfast brunch; dessert cake sweet; drink beverage; restaurant cafe diner;
vegetarian vegan; allergy allergic intolerance; ill sick illness disease; hurt injury injured pain; headache migraine; surgery operation;
medicine medication pill drug; therapy therapist counseling counselor; stress stressed destress anxious anxiety; relax calm unwind;
sad upset depressed down; happy glad joy excited; angry mad annoyed furious; afraid scared fear worry worried nervous; tired exhausted;
proud pride; love adore enjoy like; hate dislike; funny hilarious; exercise workout gym fitness training; run running jog jogging marathon;
swim swimming pool; game match tournament; win won victory award prize; lose lost defeat; team club; play played;
movie film cinema; show series episode; book novel read reading; author writer; write wrote writing; story tale; poem poetry; song tune;
music band concert; sing singing singer; dance dancing; instrument guitar piano violin; paint painting drawing draw art artwork; photo picture image photograph;
museum gallery exhibition exhibit; craft handmade; hobby pastime; begin start began; end finish stop complete; plan planned intend going;
goal dream aim wish hope; try attempt; learn study studying; school college university; class course lesson workshop; exam test grade; degree diploma;
research investigate; help support assist; volunteer volunteering charity donate donation; meet met meeting; talk speak conversation discuss chat;
tell told mention say; ask question; answer reply respond; advice recommend recommendation suggest suggestion tip; decide decision choose chose choice;
reason why because; problem issue trouble difficulty; error bug defect fault; crash crashed failure fail; fix repair repaired solve solved;
break broken damage damaged; remove delete drop; add create make made build built; change modify update edit; config configuration setting option;
deploy release ship publish; install setup; slow latency performance speed; fast quick; server host machine; login password credentials;
database table schema; test testing; rubbish trash garbage waste; clothes clothing dress outfit; shoe sneaker boot; phone mobile smartphone; computer laptop;
rain storm weather; night evening; morning dawn; big large huge; small little tiny; new recent latest; old ancient antique; beautiful pretty lovely;
important meaningful significant; event ceremony celebration party festival; birthday anniversary; church religion religious faith; god prayer;
die died death passed; born birth; young childhood; woman female; man male; gay lesbian lgbtq queer transgender; identity gender; single dating relationship`

/**
 * A kind of thing, and some things of this kind. A search for `pet` also looks for `dog`, but a search for `dog` does not look for `pet`.
 */
const kinds = `
pet: dog cat puppy kitten rabbit hamster parrot turtle fish guinea; animal: dog cat horse bird rabbit bear lion elephant; bird: parrot owl eagle robin;
instrument: guitar piano violin clarinet drums flute cello saxophone ukulele; sport: soccer football basketball tennis swimming running climbing surfing yoga hockey golf;
hobby: reading painting hiking cooking gardening pottery knitting photography chess running swimming; activity: hiking camping swimming painting pottery running yoga museum;
family: kids son daughter husband wife brother sister mom dad; game: chess poker puzzle console; food: pasta pizza bread cheese soup salad rice curry;
dessert: cake pie ice cream cookie tart; fruit: apple banana orange berry; drink: coffee tea wine beer juice; color: red blue green purple yellow pink;
colour: red blue green purple yellow pink; country: spain france italy germany japan canada mexico sweden england; vehicle: car truck van bus;
art: painting sculpture drawing sketch pottery mural; music: song album concert band jazz rock classical; book: novel author series chapter;
job: teacher nurse engineer manager developer designer artist; health: doctor hospital surgery diet sleep; injury: broken ankle knee sprained;
tool: hammer drill saw; plant: tree flower rose sunflower tomato; furniture: chair table desk sofa shelf; clothes: shirt jacket scarf dress jeans;
language: english spanish french german japanese python typescript; database: postgres mysql sqlite; subject: math history biology statistics physics`

/** The map is made when it is first needed, because many processes never need it. */
let related: ReadonlyMap<string, readonly string[]> | undefined

function readGroups(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>()
  const add = (from: string, to: readonly string[]) => {
    const known = found.get(from) ?? new Set<string>()
    for (const term of to) if (term !== from) known.add(term)
    found.set(from, known)
  }
  for (const group of synonyms.split(';').map(termsOf)) for (const term of group) add(term, group)
  for (const line of kinds.split(';')) {
    const [kind = '', ...things] = termsOf(line)
    add(kind, things)
  }
  return new Map([...found].map(([term, others]) => [term, [...others]]))
}

/** Terms of words that mean nearly the same as `term`, or that are examples of it. */
export function relatedTerms(term: string): readonly string[] {
  related ??= readGroups()
  return [...(related.get(term) ?? []), ...deedsOf(term)]
}

/**
 * For a word such as `mover` or `teacher`: the terms of the verb, `move` or `teach`. Words that are not made from a verb may also end in
 * `er`, such as `paper`. Therefore these terms also have a lower weight.
 */
function deedsOf(term: string): readonly string[] {
  if (term.length < 5 || !term.endsWith('er')) return []
  const [withE, base] = [term.slice(0, -1), term.slice(0, -2)]
  return [...new Set([stem(withE), ...(base.length > 3 ? [stem(base)] : [])])].filter((each) => each !== term)
}
