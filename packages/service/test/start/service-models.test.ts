import { afterEach, describe, expect, it } from 'vitest'
import { chooseDefaultModel } from '../../src/start/models-and-projects.js'
import { lagLimits, waitForDefaultModel } from '../../src/start/service-models.js'
import { callsModel, VirtualFleet } from '../../../nats/test/engines/virtual-fleet.js'

let current: VirtualFleet | undefined
afterEach(async () => {
  await current?.close()
  current = undefined
})

const natsEngines = { servers: ['nats://127.0.0.1:4222'] }

interface Start {
  readonly fleet: VirtualFleet
  /** When the wait for models ended, in virtual milliseconds, and what was the default model then. */
  readonly ended: () =>
    { readonly atMs: number; readonly model?: string | undefined; readonly code?: string } | undefined
}

/** A service that starts, whose engine processes report their models after it began to wait. */
const startWith = (defaultModel?: string): Start => {
  const fleet = (current = new VirtualFleet())
  let ended: ReturnType<Start['ended']>
  waitForDefaultModel(fleet.models, { defaultModel, waitMs: 10_000, scheduler: fleet.clock }).then(
    () => (ended = { atMs: fleet.clock.now(), model: chooseDefaultModel(fleet.models, { defaultModel, natsEngines }) }),
    (error: unknown) => (ended = { atMs: fleet.clock.now(), code: (error as { readonly code: string }).code }),
  )
  return { fleet, ended: () => ended }
}

const serving = (name: string, tenant = 'Default') => ({ model: { ...callsModel, name, tenant } })

describe('the default model of a service whose engines are other processes', () => {
  it.each([
    ['alpha', 'omega'],
    ['omega', 'alpha'],
  ])('is the same whichever engine process answers first: %s, then %s', async (first, second) => {
    const { fleet, ended } = startWith()
    fleet.startEngine(serving(first))
    await fleet.pass(300)
    expect(fleet.models.list()).toHaveLength(1)
    fleet.startEngine(serving(second))
    await fleet.pass(1_000)
    expect(ended()).toMatchObject({ model: 'alpha' })
  })

  it('is one that all tenants share, also if a model of a tenant is reported before', async () => {
    const { fleet, ended } = startWith()
    fleet.startEngine(serving('alpha', 'acme'))
    await fleet.pass(300)
    fleet.startEngine(serving('omega'))
    await fleet.pass(1_000)
    expect(ended()).toMatchObject({ model: 'omega' })
  })

  it('is waited for when it is named, and not mistaken for one of a tenant with its name', async () => {
    const { fleet, ended } = startWith('call')
    fleet.startEngine(serving('call', 'acme'))
    fleet.startEngine(serving('alpha'))
    await fleet.pass(300)
    expect(ended()).toBeUndefined()
    fleet.startEngine(serving('call'))
    await fleet.pass(100)
    expect(ended()).toMatchObject({ model: 'call' })
  })

  it('is not waited for longer than a second when it is named, and the first for no longer than the start may wait', async () => {
    const named = startWith('call')
    await named.fleet.pass(1_100)
    expect(named.ended()).toEqual({ atMs: 1_000, model: 'call' })
    await named.fleet.close()
    const unnamed = startWith()
    await unnamed.fleet.pass(10_100)
    expect(unnamed.ended()).toEqual({ atMs: 10_000, code: 'invalid-model' })
  })

  it('is one of this process, if there is one, because engine processes come and go', () => {
    const found = (name: string, folder: string) => ({
      ...{ tenant: 'Default', name, version: '1', folder },
      options: { engine: folder === '' ? 'nats' : 'soundswallower' },
    })
    const models = { find: () => undefined, list: () => [found('alpha', ''), found('omega', '/models/omega')] }
    expect(chooseDefaultModel(models, { natsEngines })).toBe('omega')
  })
})

describe('the lag of engine processes', () => {
  it.each([
    ['the default', {}, { maxLagMs: 1_000, refusesBehind: true }],
    ['the default of development', { development: true }, { maxLagMs: undefined, refusesBehind: false }],
    ['no limit', { limits: { maxEngineDelayMs: 0 } }, { maxLagMs: undefined, refusesBehind: false }],
    [
      'a limit in development',
      { development: true, limits: { maxEngineDelayMs: 300 } },
      { maxLagMs: 300, refusesBehind: true },
    ],
  ])('is limited for new sessions as that of engines of the service: %s', (_what, options, limits) => {
    expect(lagLimits(options)).toEqual(limits)
  })
})
