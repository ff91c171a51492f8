"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
/**
 * Makes samples/call.wav and its transcript samples/call.json: a guest books a table by telephone, the restaurant on
 * the left channel, the guest on the right, 8 kHz µ-law. The same bytes every time.
 *
 *   apt-get install flite
 *   npx ts-node -O '{"rootDir":"."}' samples/make-call.ts
 */
const node_child_process_1 = require("node:child_process");
const node_fs_1 = require("node:fs");
const node_os_1 = require("node:os");
const node_path_1 = require("node:path");
const codec_js_1 = require("../src/audio/codec.js");
const resampler_js_1 = require("../src/audio/resampler.js");
const wav_header_js_1 = require("../src/audio/wav-header.js");
const rateHz = 8000;
const voices = ['slt', 'rms'];
/** Loudest sample of a voice: the guest's line is weaker. */
const peaks = [11_000, 7_500];
/** White noise on both lines, -60 dBFS: its peak is the square root of three times that. */
const noisePeak = 32_768 * 10 ** (-60 / 20) * Math.sqrt(3);
const lines = [
    { channel: 0, afterMs: 800, text: 'good evening harbor grill how can i help you' },
    { channel: 1, afterMs: 500, text: 'hello i would like to book a table for four' },
    { channel: 0, afterMs: 450, text: 'of course which day would you like' },
    { channel: 1, afterMs: 600, text: 'friday at half past seven please' },
    { channel: 0, afterMs: 400, text: 'one moment please' },
    { channel: 1, afterMs: -180, text: 'sure' },
    { channel: 0, afterMs: 1500, text: 'i have a table at a quarter past eight' },
    { channel: 1, afterMs: 500, text: 'that works for us' },
    { channel: 0, afterMs: 400, text: 'may i have your name and phone number' },
    { channel: 1, afterMs: 500, text: 'peter wilson five five five zero one four two' },
    { channel: 0, afterMs: 450, text: 'five five five zero one four two' },
    { channel: 1, afterMs: 350, text: 'yes that is right' },
    { channel: 0, afterMs: 400, text: 'we will see you on friday' },
    { channel: 1, afterMs: 350, text: 'thank you goodbye' },
];
const endSilenceMs = 1200;
/** The spoken line as flite says it, 16-bit samples after a RIFF header of 44 bytes, with the rate from that header. */
const speak = (voice, text, folder) => {
    const file = (0, node_path_1.join)(folder, 'line.wav');
    (0, node_child_process_1.execFileSync)('flite', ['-voice', voice, '-t', text, '-o', file]);
    const bytes = (0, node_fs_1.readFileSync)(file);
    const samples = Int16Array.from({ length: (bytes.length - 44) >> 1 }, (_, at) => bytes.readInt16LE(44 + 2 * at));
    return { fromHz: bytes.readUInt32LE(24), samples };
};
const resample = async (samples, fromHz) => {
    const resampler = await (0, resampler_js_1.createResampler)({ fromHz, toHz: rateHz, channels: 1 });
    const [body, tail] = [resampler.process(samples), resampler.flush()];
    resampler.free();
    return Int16Array.of(...body, ...tail);
};
/** Without the silence before and after the speech. */
const trim = (samples) => {
    const threshold = Math.max(...samples.map(Math.abs)) / 60;
    const isLoud = (sample) => Math.abs(sample) > threshold;
    const margin = rateHz / 50;
    const start = Math.max(samples.findIndex(isLoud) - margin, 0);
    return samples.slice(start, Math.min(samples.findLastIndex(isLoud) + margin, samples.length));
};
const toMs = (sampleCount) => Math.round((sampleCount * 1000) / rateHz);
const toSamples = (durationMs) => Math.round((durationMs * rateHz) / 1000);
/** A linear congruential generator with the constants of ISO C's example: from -1 to 1. */
const noise = (seed) => {
    let state = seed;
    return () => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return state / 2 ** 31 - 1;
    };
};
const speakAll = async () => {
    const folder = (0, node_fs_1.mkdtempSync)((0, node_path_1.join)((0, node_os_1.tmpdir)(), 'rxspeech-call-'));
    const turns = [];
    let endSample = 0;
    for (const { channel, afterMs, text } of lines) {
        const { samples, fromHz } = speak(voices[channel], text, folder);
        const speech = trim(await resample(samples, fromHz));
        const startSample = endSample + toSamples(afterMs);
        turns.push({ channel, startSample, speech, text });
        endSample = startSample + speech.length;
    }
    (0, node_fs_1.rmSync)(folder, { recursive: true });
    return turns;
};
const mix = (turns) => {
    const frames = Math.max(...turns.map(({ startSample, speech }) => startSample + speech.length)) + toSamples(endSilenceMs);
    const mixed = new Float64Array(2 * frames);
    const channels = [noise(1), noise(2)];
    for (let at = 0; at < mixed.length; at += 1)
        mixed[at] = noisePeak * (channels[at % 2]?.() ?? 0);
    for (const { channel, startSample, speech } of turns) {
        const gain = peaks[channel] / Math.max(...speech.map(Math.abs));
        for (const [at, sample] of speech.entries()) {
            const index = 2 * (startSample + at) + channel;
            mixed[index] = (mixed[index] ?? 0) + gain * sample;
        }
    }
    return Int16Array.from(mixed, Math.round);
};
const main = async () => {
    const turns = await speakAll();
    const data = (0, codec_js_1.encodeSamples)(mix(turns), 'ulaw');
    const header = (0, wav_header_js_1.wavHeader)({ encoding: 'ulaw', sampleRateHz: rateHz, channels: 2 }, data.length);
    (0, node_fs_1.writeFileSync)((0, node_path_1.join)(__dirname, 'call.wav'), Buffer.concat([header, data]));
    const transcript = turns.map(({ channel, startSample, speech, text }) => ({
        channel,
        startMs: toMs(startSample),
        endMs: toMs(startSample + speech.length),
        text,
    }));
    const rows = transcript.map((turn) => `    ${JSON.stringify(turn)}`).join(',\n');
    const head = `  "channels": ["restaurant", "guest"],\n  "durationMs": ${toMs(data.length / 2)},\n`;
    (0, node_fs_1.writeFileSync)((0, node_path_1.join)(__dirname, 'call.json'), `{\n${head}  "turns": [\n${rows}\n  ]\n}\n`);
};
void main();
