#!/bin/sh
# sh fetch.sh EXPORT: TensorFlow Lite 2.17.0 into Frameworks, the model of an export into the package.
set -eu
export=${1:?"usage: sh fetch.sh EXPORT, where EXPORT is what export.py wrote"}
cd "$(dirname "$0")"
tag=v2.17.0
archive=https://dl.google.com/tflite-release/ios/prod/tensorflow/lite/release/ios/release/32/20240729-115310/TensorFlowLiteC/2.17.0/0c10b3543e01f547/TensorFlowLiteC-2.17.0.tar.gz
sha256=9667b476015f136e5b332ce040e12822c4ac6d5c58947882ddc809cdff0fb99e

mkdir -p Frameworks/TensorFlowLite Sources/Attention/Model
if [ ! -d Frameworks/TensorFlowLiteC.xcframework ]; then
  curl --fail --location --output Frameworks/archive.tar.gz "$archive"
  echo "$sha256  Frameworks/archive.tar.gz" | shasum -a 256 -c -
  tar -xzf Frameworks/archive.tar.gz -C Frameworks
  mv "$(find Frameworks -name TensorFlowLiteC.xcframework -prune | head -n 1)" Frameworks/
  rm Frameworks/archive.tar.gz
fi
for name in Delegate Interpreter InterpreterError Model QuantizationParameters SignatureRunner \
  SignatureRunnerError Tensor; do
  curl --fail --location --output "Frameworks/TensorFlowLite/$name.swift" \
    "https://raw.githubusercontent.com/tensorflow/tensorflow/$tag/tensorflow/lite/swift/Sources/$name.swift"
done
cp "$export"/litert/*.json Sources/Attention/Model/model.json
cp "$export"/litert/*.int8.tflite Sources/Attention/Model/model.tflite
