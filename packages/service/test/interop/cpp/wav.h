// Reads a WAV file of PCM or G.711 mu-law: its format, and where its samples are.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

struct Wav {
  std::string encoding;
  uint32_t sample_rate = 0;
  uint16_t channels = 0;
  uint16_t frame_bytes = 0;
  std::string samples;

  // Whole frames of so many milliseconds: of stereo, the samples of both channels in turn, as the file has them.
  size_t ChunkBytes(int ms) const { return static_cast<size_t>(sample_rate) * ms / 1000 * frame_bytes; }
};

template <typename Number>
Number LittleEndian(const std::string& bytes, size_t at) {
  if (at + sizeof(Number) > bytes.size()) throw std::runtime_error("The WAV file ends early.");
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);  // every Debian architecture with this package is little-endian
  return number;
}

inline Wav ReadWav(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("Cannot read " + path);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Wav wav;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const std::string chunk = bytes.substr(at, 4);
    const uint32_t length = LittleEndian<uint32_t>(bytes, at + 4);
    const size_t body = at + 8;
    if (chunk == "fmt ") {
      const uint16_t tag = LittleEndian<uint16_t>(bytes, body);
      if (tag != 1 && tag != 7) throw std::runtime_error(path + " holds neither PCM nor mu-law.");
      wav.encoding = tag == 7 ? "ulaw" : "pcm";
      wav.channels = LittleEndian<uint16_t>(bytes, body + 2);
      wav.sample_rate = LittleEndian<uint32_t>(bytes, body + 4);
      wav.frame_bytes = LittleEndian<uint16_t>(bytes, body + 12);
    } else if (chunk == "data") {
      wav.samples = bytes.substr(body, length);
    }
    at = body + length + length % 2;
  }
  if (wav.frame_bytes == 0 || wav.samples.empty()) throw std::runtime_error(path + " is not a WAV file.");
  return wav;
}
