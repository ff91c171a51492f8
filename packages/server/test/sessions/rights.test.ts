import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { refusalOf } from '../../src/sessions/refusals.js'
import { openModel, type OpenedModel } from '../../src/sessions/rights.js'
import type { Engine, ModelDescription } from '../../../engines/src/engine.js'
import type { ModelRegistry } from '../../../engines/src/models/model-registry.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'

const engine = scriptedEngine({ texts: ['x'] })
/**
 * Every model of the tenants `Default`, `Acme` and `Other` exists; the engine's name is that of the requested model.
 */
const registry = (open: () => Promise<Engine> = () => Promise.resolve(engine)) => {
  const asked: string[] = []
  const models: ModelRegistry = {
    find: ({ tenant, name, version = '' }) => {
      asked.push(`${tenant}/${name}/${version}`)
      const known = ['Default', 'Acme', 'Other'].includes(tenant) && name !== 'missing'
      return known ? { tenant, name, version, folder: '', options: { engine: 'x' } } : undefined
    },
    list: () => [],
    problems: () => [],
    engine: open,
    close: () => Promise.resolve(),
  }
  return { models, asked }
}

const rights = { tenants: ['Acme'], projects: [], models: ['English', 'missing'] }
const denied = expect.objectContaining({ code: 'model-denied' }) as unknown

describe('a requested model', () => {
  it('is of the tenant Default and the newest version unless the request names others', async () => {
    const { models, asked } = registry()
    expect(await openModel(models, rights, { name: 'English' })).toMatchObject({ engine })
    await openModel(models, rights, { name: 'English', tenant: '', version: '' })
    await openModel(models, rights, { name: 'English', tenant: 'Acme', version: '2' })
    expect(asked).toEqual(['Default/English/', 'Default/English/', 'Acme/English/2'])
  })

  it.each([
    ['a model that is not granted', { name: 'Deutsch' }],
    ['a tenant that is not granted', { name: 'English', tenant: 'Other' }],
    ['a model that does not exist', { name: 'missing' }],
  ])('is refused with the same error for %s', async (_name, request) => {
    const { models } = registry()
    const error = await openModel(models, rights, request).catch((error: unknown) => error)
    expect(error).toEqual(denied)
    expect((error as Error).message).toBe('The model is not known here, or not granted to this subscription.')
  })

  it('reveals nothing of the errors in its files', async () => {
    const cause = new SpeechError('invalid-model', 'Correct /home/service/model.json.')
    const { models } = registry(() => Promise.reject(cause))
    const error = await openModel(models, rights, { name: 'English' }).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'engine-failed', cause })
    expect((error as Error).message).not.toContain('/home')
  })

  it('counts as refused only if no version of it has room', async () => {
    const versionOf = (version: string) => ({
      tenant: 'Default',
      name: 'English',
      version,
      folder: '',
      options: { engine: 'x' },
    })
    const { models } = registry()
    const two: ModelRegistry = {
      ...models,
      find: () => versionOf('2'),
      list: () => [versionOf('1'), versionOf('2')],
      isServed: () => true,
    }
    const counted: string[] = []
    const open = (...full: readonly string[]): Promise<OpenedModel> =>
      openModel(
        two,
        rights,
        { name: 'English' },
        {
          check: ({ version }) => {
            if (!full.includes(version)) return
            throw refusalOf(new SpeechError('overloaded', version), () => counted.push(version))
          },
          onRefused: (model, { code }) => counted.push(`${model}: ${code}`),
        },
      )
    expect(await open('2')).toEqual({ model: versionOf('1'), engine })
    expect(counted).toEqual([])
    const broken = (): Promise<Engine> => Promise.reject(new SpeechError('invalid-model', 'Broken.'))
    const full = new SpeechError('overloaded', 'Full.')
    const check = ({ version }: ModelDescription): void => {
      if (version === '1') throw full
    }
    const refused = openModel({ ...two, engine: broken }, rights, { name: 'English' }, { check })
    await expect(refused).rejects.toBe(full)
    await expect(open('1', '2')).rejects.toMatchObject({ message: '2' })
    expect(counted).toEqual(['2', '1', 'English: overloaded'])
  })

  it('is refused with going-away when the service closes', async () => {
    const error = new SpeechError('going-away', 'Closing.')
    const { models } = registry(() => Promise.reject(error))
    await expect(openModel(models, rights, { name: 'English' })).rejects.toBe(error)
  })
})
