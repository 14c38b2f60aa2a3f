import { setTimeout as sleep } from 'node:timers/promises'
import type { Relay } from '../../ports/store/relay.ts'
import type { TestRunner } from './test-runner.ts'

/** Several relays that are connected with each other, like the relays of several processes. */
export interface RelayFixture {
  /** Opens one more relay. */
  open(): Promise<Relay>
  /** Cuts the connections of all relays. */
  cutConnections(): Promise<void>
}

/** The tests that every `Relay` must pass. `create` makes relays that no other test uses. */
export function describeRelay({ describe, it, expect }: TestRunner, name: string, create: () => Promise<RelayFixture>): void {
  /** Listens, and resolves when the relay is connected. */
  async function listen(relay: Relay, addresses: readonly string[]) {
    const messages: string[] = []
    const connected = Promise.withResolvers<void>()
    let connections = 0
    const end = relay.listen(addresses, {
      onMessage: (text) => void messages.push(text),
      onConnected() {
        connections++
        connected.resolve()
      },
    })
    await connected.promise
    return { messages, end, connections: () => connections }
  }
  const until = async (condition: () => boolean) => {
    for (let waited = 0; !condition() && waited < 20_000; waited += 10) await sleep(10)
  }

  describe(`${name} carries messages`, () => {
    it('to every listener of the address, including the sender, and to no other listener', async () => {
      const fixture = await create()
      const [one, two, three] = [await fixture.open(), await fixture.open(), await fixture.open()]
      const atOne = await listen(one, ['all', 'one'])
      const atTwo = await listen(two, ['all', 'two'])
      const atThree = await listen(three, ['all', 'three'])
      await one.send('all', 'for all')
      await one.send('two', 'for two')
      await three.send('one', 'for one')
      await until(() => atOne.messages.length + atTwo.messages.length + atThree.messages.length >= 5)
      await sleep(50)
      expect([...atOne.messages].sort()).toEqual(['for all', 'for one'])
      expect(atTwo.messages).toEqual(['for all', 'for two'])
      expect(atThree.messages).toEqual(['for all'])
      for (const { end } of [atOne, atTwo, atThree]) end()
    })

    it('in the order in which one sender has sent them', async () => {
      const fixture = await create()
      const [sender, receiver] = [await fixture.open(), await fixture.open()]
      const sending = await listen(sender, ['one'])
      const { messages, end } = await listen(receiver, ['two'])
      const sent = Array.from({ length: 300 }, (_, index) => `message ${index}`)
      await Promise.all(sent.map((text) => sender.send('two', text)))
      await until(() => messages.length >= sent.length)
      expect(messages).toEqual(sent)
      end()
      sending.end()
    })

    it('of up to the maximum size, with any characters, unchanged', async () => {
      const fixture = await create()
      const [sender, receiver] = [await fixture.open(), await fixture.open()]
      const sending = await listen(sender, ['one'])
      const { messages, end } = await listen(receiver, ['two'])
      const largest = `${'🙂'.repeat(Math.floor(sender.maxBytes / 4) - 1)}xyz`
      const sent = ['a \'quoted\' "text"\r\n\t\\ $1 %s', '\u2028 ä 漢字', ' ', largest]
      for (const text of sent) await sender.send('two', text)
      await until(() => messages.length >= sent.length)
      expect(messages).toEqual(sent)
      end()
      sending.end()
    })

    it('until the listener ends', async () => {
      const fixture = await create()
      const [sender, receiver] = [await fixture.open(), await fixture.open()]
      const sending = await listen(sender, ['one'])
      const ended = await listen(receiver, ['two'])
      const other = await listen(receiver, ['two'])
      ended.end()
      await sender.send('two', 'x')
      await until(() => other.messages.length > 0)
      expect([ended.messages, other.messages]).toEqual([[], ['x']])
      other.end()
      sending.end()
    })

    it('again after the connection was lost, and tells listeners that it is connected again', async () => {
      const fixture = await create()
      const [sender, receiver] = [await fixture.open(), await fixture.open()]
      const sending = await listen(sender, ['one'])
      const receiving = await listen(receiver, ['two'])
      await fixture.cutConnections()
      await until(() => sending.connections() > 1 && receiving.connections() > 1)
      await sender.send('two', 'after')
      await until(() => receiving.messages.length > 0)
      expect(receiving.messages).toEqual(['after'])
      receiving.end()
      sending.end()
    })
  })
}
