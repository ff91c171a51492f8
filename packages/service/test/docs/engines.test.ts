import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import * as service from '../../src/index.js'
import type { EngineKind, ModelDescription, SegmentPart } from '../../src/index.js'
import { sherpaTypes, type SherpaType } from '../../../engines/src/sherpa-onnx/model-types.js'
import { blocksOf, tableBelow } from '../../../../test/docs/markdown.js'

const page = readFileSync(join(__dirname, '../../../../docs/ENGINES.md'), 'utf8')

const modelOf = (engine: string, options: object = {}): ModelDescription => ({
  tenant: 'Default',
  name: 'm',
  version: '1',
  folder: __dirname,
  options: { engine, ...options },
})

const typeRow = (type: SherpaType): readonly string[] => {
  const { key, streaming, models, files, folders = {}, language, times, hasProbabilities, punctuates, tried } = type
  const wordTimes = { yes: 'times', some: 'times, if its files have them', no: '–' }[times]
  return [
    `\`${key}\`${streaming ? ', streaming' : ''}`,
    models,
    [...Object.keys(files), ...Object.keys(folders)].join(', '),
    language.by === 'stream' || language.by === 'configuration' ? 'yes' : '–',
    hasProbabilities ? `${wordTimes}, confidences` : wordTimes,
    { yes: 'yes', some: 'some', no: '–' }[punctuates],
    tried,
  ]
}

describe('docs/ENGINES.md', () => {
  it('lists the types of models of sherpa-onnx', () => {
    expect(tableBelow(page, 'Types of sherpa-onnx')).toEqual(sherpaTypes.map(typeRow))
  })

  it.each([
    service.soundswallower(),
    service.sherpaOnnx(),
    service.remote(),
    service.openai(),
    service.wyoming(),
    service.vosk(),
  ])('lists the keys of model.json for $name', async (kind) => {
    const refused = await kind.open(modelOf(kind.name, { 'no such key at all': 1 })).then(
      () => '',
      (error: unknown) => (error as Error).message,
    )
    const [, known = ''] = /"no such key at all" in model\.json is not known; there are ([^.]+)\./.exec(refused) ?? []
    const listed = tableBelow(page, kind.name).flatMap(([keys = '']) => keys.replaceAll('`', '').split(', '))
    expect(listed.length).toBeGreaterThan(5)
    expect(listed.toSorted()).toEqual(known.split(', ').toSorted())
  })

  it('has a program with a working engine', async () => {
    const program = blocksOf(page).find(({ language }) => language === 'ts')
    const { outputText } = ts.transpileModule(program?.text ?? '', {
      compilerOptions: { module: ts.ModuleKind.CommonJS },
    })
    const module: { counter?: EngineKind } = {}
    const require = (name: string): unknown => (name === 'rxspeech-service' ? service : undefined)
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the program of the page
    new Function('require', 'exports', outputText)(require, module)
    const engine = await module.counter?.open(modelOf('counter'))
    if (engine === undefined) throw new Error('The program exports no counter')
    const parts: SegmentPart[] = [
      { type: 'open', startMs: 500 },
      { type: 'audio', samples: new Int16Array(16_000) },
      { type: 'close', endMs: 2500 },
    ]
    expect(await lastValueFrom(from(parts).pipe(engine.recognize(), toArray()))).toEqual([
      { type: 'progress', sampleCount: 16_000 },
      {
        type: 'segment',
        startMs: 500,
        endMs: 2500,
        text: '2 seconds',
        words: [{ text: '2 seconds', startMs: 500, endMs: 2500, confidence: 1 }],
      },
    ])
  })
})
