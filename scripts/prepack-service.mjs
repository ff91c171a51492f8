// @ts-check
// Runs when rxspeech-service is packed: it has the samples of the checkout. With --undo, afterwards, it removes them.
import { cp, rm } from 'node:fs/promises'

const samples = new URL('../packages/service/samples/', import.meta.url)
await rm(samples, { recursive: true, force: true })
if (!process.argv.includes('--undo')) await cp(new URL('../samples/', import.meta.url), samples, { recursive: true })
