import { join } from 'node:path'
import { catchError, filter, firstValueFrom, interval, map, merge, of, Subject } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Hypothesis, SegmentPart } from '../../../engines/src/engine.js'
import { createModelRegistry } from '../../../engines/src/models/model-registry.js'
import { EngineHost } from '../../src/engines/engine-host.js'
import { Fleet } from '../../src/engines/fleet.js'
import { createFleetModels } from '../../src/engines/fleet-models.js'
import { listEngines } from '../../src/engines/list-engines.js'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import { developmentCertificates } from '../../../server/src/identity/keys/development-certificates.js'
import { createBus, type MessageBus } from '../../src/connection/bus.js'
import { connectNats } from '../../src/connection/connection.js'
import type { NatsOptions } from '../../src/connection/nats-options.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'
import { adaptConfiguration } from '../../../service/test/interop/balancer.js'
import { natsIsSkipped, natsTitle, startNatsServer, type NatsServer } from '../connection/nats-server.js'
import { callsModel } from './virtual-fleet.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const passwords = {
  NATS_EDGE: 'edge-password',
  NATS_ENGINE: 'engine-password',
  NATS_ENGINE_GPU: 'engine-gpu-password',
  NATS_OPERATOR: 'operator-password',
  NATS_IDENTITY: 'identity-password',
}

const folder = temporaryFolder()
let server: NatsServer
let ca: string

describe.skipIf(natsIsSkipped)(natsTitle('the engines of docs/deploy/nats.conf'), () => {
  const cleanups: (() => unknown)[] = []

  beforeAll(async () => {
    const certificates = await developmentCertificates(folder)
    ca = certificates.ca
    // The shipped file with the paths of this test; the port comes from the command line.
    const configFile = await adaptConfiguration(
      'nats.conf',
      [
        ['"/etc/nats/tls/chain.pem"', `"${join(folder, 'server.pem')}"`],
        ['"/etc/nats/tls/key.pem"', `"${join(folder, 'server.pem')}"`],
        ['/var/lib/nats', join(folder, 'store')],
        ['http: 127.0.0.1:8222', 'http: "127.0.0.1:-1"'],
      ],
      folder,
    )
    server = await startNatsServer({ configFile, env: passwords })
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })
  afterAll(async () => {
    await server.close()
  })

  const optionsOf = (user: string): NatsOptions => ({
    servers: [server.url.replace('nats:', 'tls:')],
    ...{ user, password: `${user}-password`, ca },
  })
  const openBus = async (user: string): Promise<MessageBus> => {
    const bus = createBus(await connectNats(optionsOf(user), { name: user }))
    cleanups.push(() => bus.close())
    return bus
  }
  /** The subject of the first message, or why there is none. */
  const outcome = (bus: MessageBus, subject: string): Promise<string> =>
    firstValueFrom(
      bus.messages(subject).pipe(
        map((message) => message.subject),
        catchError((error: unknown) => of(isSpeechError(error) ? error.code : 'another error')),
      ),
    )

  it('permits services and engine processes to work, and operators to list them', async () => {
    const [edge, engine] = [await openBus('edge'), await openBus('engine')]
    const faults: unknown[] = []
    const onFault = (error: unknown): void => void faults.push(error)
    const recognizer = scriptedEngine({ texts: ['hello world'] })
    const host = new EngineHost({
      ...{ bus: engine, name: 'engine', capacity: 2, onFault },
      models: [{ advert: callsModel, engine: recognizer }],
    })
    const fleet = new Fleet({ bus: edge, name: 'edge', onFault })
    const models = createFleetModels({ fleet, local: createModelRegistry({ folders: [], kinds: [] }), onFault })
    cleanups.push(
      () => models.close(),
      () => host.close(),
    )
    const model = await firstValueFrom(
      merge(of(undefined), models.changed$ ?? []).pipe(
        map(() => models.list()[0]),
        filter((found) => found !== undefined),
      ),
    )
    const part$ = new Subject<SegmentPart>()
    const result = firstValueFrom(
      part$.pipe(
        (await models.engine(model)).recognize(),
        filter((hypothesis: Hypothesis) => hypothesis.type === 'segment'),
      ),
    )
    const parts: readonly SegmentPart[] = [
      { type: 'open', startMs: 0 },
      { type: 'audio', samples: new Int16Array(8000) },
      { type: 'close', endMs: 1000 },
    ]
    for (const part of parts) part$.next(part)
    expect(await result).toMatchObject({ text: 'hello world' })
    expect(faults).toEqual([])
    const operator = await openBus('operator')
    const names = async () => (await listEngines(operator, 400)).map(({ address }) => address.name)
    await expect.poll(names).toEqual(['engine'])
  })

  it.each([
    ['another engine', 'engine-gpu', 'rxspeech.engine.engine.0123456789abcdef.in'],
    ['another engine, by a wildcard', 'engine-gpu', 'rxspeech.engine.>'],
    ['an engine, by a service', 'edge', 'rxspeech.engine.>'],
    ['an engine, by an operator', 'operator', 'rxspeech.engine.>'],
    ['everything', 'edge', '>'],
  ])('does not let anybody read the audio of %s', async (_what, user, subject) => {
    const [thief, edge] = [await openBus(user), await openBus('edge')]
    const stolen = outcome(thief, subject)
    edge.publish('rxspeech.engine.engine.0123456789abcdef.in', 'audio')
    expect(await stolen).toBe('refused')
  })

  it.each([
    ['engine-gpu', 'rxspeech.edge.edge.0123456789abcdef.1'],
    ['operator', 'rxspeech.edge.>'],
    ['edge', 'rxspeech.edge.other.*.*'],
  ])('does not let %s read results that go to %s', async (user, subject) => {
    expect(await outcome(await openBus(user), subject)).toBe('refused')
  })

  it.each([
    ['edge', 'rxspeech.alive.engine'],
    ['edge', 'rxspeech.models.engine'],
    ['engine-gpu', 'rxspeech.alive.engine'],
    ['operator', 'rxspeech.alive.engine'],
  ])('does not let %s advertise on %s', async (user, subject) => {
    const [forger, edge] = [await openBus(user), await openBus('edge')]
    const seen: string[] = []
    const watching = edge.messages(subject).subscribe((message) => seen.push(message.subject))
    const refused = firstValueFrom(forger.refused$)
    forger.publish(subject, '{}')
    expect(await refused).toBe(subject)
    expect(seen).toEqual([])
    watching.unsubscribe()
  })

  it('says so when the name of an engine process is not that of its user', async () => {
    const faults: unknown[] = []
    const engine = await openBus('engine')
    const host = new EngineHost({
      ...{ bus: engine, name: 'engine-2', capacity: 2, onFault: (error: unknown) => faults.push(error) },
      models: [{ advert: callsModel, engine: scriptedEngine({ texts: ['hello'] }) }],
    })
    cleanups.push(() => host.close())
    await expect.poll(() => faults.length).toBeGreaterThanOrEqual(4)
    const sentences = faults.map((error) => (isSpeechError(error) ? error.message : 'another error'))
    const hint = 'check its permissions, and the name of this process.'
    for (const subject of ['models.engine-2', 'alive.engine-2']) {
      expect(sentences).toContain(`The NATS server does not allow this user to send rxspeech.${subject}; ${hint}`)
    }
    expect(sentences).toContain(
      `The NATS server does not allow this user to receive rxspeech.engine.engine-2.${host.address.instance}.in; ${hint}`,
    )
    expect(engine.refusedCount).toBeGreaterThanOrEqual(2)
  })

  it('permits a service the engines that it may send to, and names the others', async () => {
    // With the rights of this user, who may send to no other subject.
    const configFile = await adaptConfiguration(
      'nats.conf',
      [
        ['"/etc/nats/tls/chain.pem"', `"${join(folder, 'server.pem')}"`],
        ['"/etc/nats/tls/key.pem"', `"${join(folder, 'server.pem')}"`],
        ['/var/lib/nats', join(folder, 'store-of-fewer-rights')],
        ['http: 127.0.0.1:8222', 'http: "127.0.0.1:-1"'],
        ['"rxspeech.engine.*.*.in"', '"rxspeech.engine.engine.*.in"'],
      ],
      folder,
    )
    const strict = await startNatsServer({ configFile, env: passwords })
    cleanups.push(() => strict.close())
    const open = async (user: string): Promise<MessageBus> => {
      const options = { ...optionsOf(user), servers: [strict.url.replace('nats:', 'tls:')] }
      const bus = createBus(await connectNats(options, { name: user }))
      cleanups.push(() => bus.close())
      return bus
    }
    const faults: unknown[] = []
    const onFault = (error: unknown): void => void faults.push(error)
    for (const name of ['engine', 'engine-gpu']) {
      const host = new EngineHost({
        ...{ bus: await open(name), name, capacity: 8, onFault },
        models: [{ advert: callsModel, engine: scriptedEngine({ texts: [name] }) }],
      })
      cleanups.push(() => host.close())
    }
    const edge = await open('edge')
    // The free places of both are equal, and the first of two is chosen at random: here each in turn.
    let turn = 0
    const fleet = new Fleet({ bus: edge, name: 'edge', onFault, random: () => ((turn += 1) % 4 < 2 ? 0 : 0.9) })
    const models = createFleetModels({ fleet, local: createModelRegistry({ folders: [], kinds: [] }), onFault })
    cleanups.push(() => models.close())
    await expect.poll(() => [fleet.roster.engines.length, models.list().length]).toEqual([2, 1])
    const [model] = models.list()
    if (model === undefined) throw new Error('There is no model.')
    const engine = await models.engine(model)
    const texts: string[] = []
    for (let at = 0; at < 8; at += 1) {
      const part$ = new Subject<SegmentPart>()
      const result = firstValueFrom(
        part$.pipe(
          engine.recognize(),
          filter((hypothesis) => hypothesis.type === 'segment'),
        ),
      )
      part$.next({ type: 'open', startMs: 0 })
      part$.next({ type: 'audio', samples: new Int16Array(800) })
      part$.next({ type: 'close', endMs: 100 })
      texts.push((await result).text)
    }
    expect(texts).toEqual(Array(8).fill('engine'))
    expect(fleet.counts.lost).toEqual({ refused: 1 })
    expect(edge.refusedCount).toBeGreaterThan(0)
    expect(faults).toMatchObject([
      { code: 'refused', message: expect.stringContaining('to send rxspeech.engine.engine-gpu.') as string },
    ])
  })

  it('permits the engine of a name to advertise under it', async () => {
    const [engine, edge] = [await openBus('engine'), await openBus('edge')]
    const seen = outcome(edge, 'rxspeech.alive.*')
    // The server may learn of the subscription only after the first of them.
    const again = interval(20).subscribe(() => engine.publish('rxspeech.alive.engine', '{}'))
    expect(await seen).toBe('rxspeech.alive.engine')
    again.unsubscribe()
  })
})
